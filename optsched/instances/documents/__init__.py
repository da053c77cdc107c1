"""The file format: its definition, documents from and to columns, what is wrong with one, archives, exact numbers."""

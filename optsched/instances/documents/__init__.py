"""The file format: its definition, conversion between documents and columns, diagnosis, archives, exact numbers."""

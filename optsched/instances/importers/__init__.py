"""Importers: other people's files as documents of the instance format, one module a format."""

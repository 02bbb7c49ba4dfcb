"""Workings in: files, tables, spreadsheets and documents, every cell kept as its raw text."""

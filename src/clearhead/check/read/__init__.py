"""Read workings from files, tables, spreadsheets and documents; every cell keeps its raw text."""

"""Sheets: the lines of an exercise, and the forms that are printed from them."""

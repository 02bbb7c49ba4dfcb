"""Exercises: sheets that are printed, and workings that are read. Numpy only, never torch."""

"""Sheets for course platforms, whose questions know only fixed intervals: Moodle XML and QTI 1.2 for Canvas."""

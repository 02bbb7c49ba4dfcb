"""Sheets for a course platform, whose questions know only fixed intervals: Moodle XML."""

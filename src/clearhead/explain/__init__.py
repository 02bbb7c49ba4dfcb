"""Explain a model: record searches step by step, and turn traces into worksheets."""

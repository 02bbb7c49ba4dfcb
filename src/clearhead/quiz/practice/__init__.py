"""Practise in a dialogue: one step at a time, marked at once, with help, and again later where something was wrong."""

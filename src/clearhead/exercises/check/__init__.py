"""Reading and marking of workings."""

"""The output formats of a worksheet. All of them draw a SheetView and calculate nothing."""

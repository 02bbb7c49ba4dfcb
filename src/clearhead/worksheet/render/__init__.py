"""The forms a worksheet is shown in. All of them draw a SheetView and compute nothing."""

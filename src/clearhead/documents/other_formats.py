"""Name the formats that people try to translate but that are not supported, by the extension or the first bytes."""

_BY_EXTENSION = {
    ".pdf": "PDF",
    ".doc": "the format of Word 97-2003",
    ".odt": "OpenDocument text",
    ".ods": "the OpenDocument spreadsheet",
    ".odp": "the OpenDocument presentation",
    ".rtf": "RTF",
    ".pages": "the format of Pages",
    ".epub": "EPUB",
    ".mobi": "the format of Kindle",
    ".xls": "the format of Excel 97-2003",
    ".xlsx": "the format of Excel",
    ".ppt": "the format of PowerPoint 97-2003",
    ".pptx": "the format of PowerPoint",
    ".zip": "ZIP",
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".gif": "GIF",
    ".webp": "WebP",
    ".mp3": "MP3",
    ".mp4": "MP4",
}
_BY_START = {
    b"%PDF-": "PDF",
    b"{\\rtf": "RTF",
    b"PK\x03\x04": "ZIP",
    b"\xd0\xcf\x11\xe0": "the format of Word 97-2003",
    b"\x89PNG": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"GIF8": "GIF",
}


def unsupported_format(extension: str, start: bytes = b"") -> str | None:
    """Return the name of a known format that is not supported; None if it is none of these."""
    by_start = (name for sign, name in _BY_START.items() if start.startswith(sign))
    return _BY_EXTENSION.get(extension.lower()) or next(by_start, None)

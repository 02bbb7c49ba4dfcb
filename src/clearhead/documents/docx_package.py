"""The ZIP file of a Word document: read within limits, and written again with only some parts changed."""

import zipfile
import zlib
from dataclasses import dataclass
from io import BytesIO
from zipfile import ZipFile, ZipInfo

from clearhead.documents.inline import DocumentFault

MAX_PARTS = 4_000
MAX_UNPACKED = 128 * 2**20  # bytes of all parts together
MAX_RATIO = 200  # of the unpacked to the packed size of a part of more than a megabyte
_SMALL = 2**20
_DOCUMENT = "word/document.xml"
_OLD_WORD = b"\xd0\xcf\x11\xe0"
_NOT_A_DOCUMENT = "it is not a Word document. Save it as .docx with Word or LibreOffice."


@dataclass(frozen=True)
class Package:
    """The parts of a document in their order, with their entries in the ZIP file."""

    entries: tuple[ZipInfo, ...]
    contents: dict[str, bytes]

    def with_parts(self, changes: dict[str, bytes]) -> bytes:
        """Return the ZIP file with some parts replaced; all other parts have the same bytes."""
        buffer = BytesIO()
        with ZipFile(buffer, "w") as archive:
            for entry in self.entries:
                copy = ZipInfo(entry.filename, entry.date_time)
                copy.compress_type = zipfile.ZIP_STORED if entry.is_dir() else _method(entry)
                copy.external_attr, copy.comment = entry.external_attr, entry.comment
                archive.writestr(copy, changes.get(entry.filename, self.contents[entry.filename]))
        return buffer.getvalue()


def _method(entry: ZipInfo) -> int:
    return entry.compress_type if entry.compress_type == zipfile.ZIP_STORED else zipfile.ZIP_DEFLATED


def read_package(content: bytes) -> Package:
    """Return the parts of a Word document; sizes are checked before anything is unpacked."""
    if content.startswith(_OLD_WORD):
        raise DocumentFault("it is a document of Word 97-2003 or has a password. Save it as .docx without a password.")
    try:
        with ZipFile(BytesIO(content)) as archive:
            entries = tuple(archive.infolist())
            _check(entries)
            contents = {entry.filename: archive.read(entry) for entry in entries}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError):
        raise DocumentFault(
            "it is damaged, or not a Word document: its ZIP file cannot be read. Save it again with Word or "
            "LibreOffice."
        ) from None
    return Package(entries, contents)


def _check(entries: tuple[ZipInfo, ...]) -> None:
    names = [entry.filename for entry in entries]
    if len(entries) > MAX_PARTS:
        raise DocumentFault(f"it has {len(entries):,} parts; the limit is {MAX_PARTS:,}. Split the document.")
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > MAX_UNPACKED:
        limit = MAX_UNPACKED // 2**20
        raise DocumentFault(f"it unpacks to {unpacked / 2**20:,.0f} MiB; the limit is {limit} MiB. Remove pictures.")
    for entry in entries:
        if entry.file_size > _SMALL and entry.file_size > MAX_RATIO * max(entry.compress_size, 1):
            raise DocumentFault(
                f"a part of it unpacks to more than {MAX_RATIO} times its size, as in a ZIP bomb. Save it again with "
                "Word or LibreOffice."
            )
        if entry.filename.startswith(("/", "\\")) or ".." in entry.filename.replace("\\", "/").split("/"):
            raise DocumentFault("a part of it has a name outside the document. Save it again with Word or LibreOffice.")
        if entry.flag_bits & 1:
            raise DocumentFault("it has a password. Save it without one.")
    if len(set(names)) != len(names):
        raise DocumentFault("two parts of it have the same name. Save it again with Word or LibreOffice.")
    if _DOCUMENT not in names:
        raise DocumentFault(_NOT_A_DOCUMENT)

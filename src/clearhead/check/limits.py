"""The limits of a working: far more than anybody writes by hand, and little enough to be checked in seconds.

A working that exceeds one of them is refused in a sentence. docs/guide/check.md lists them. Worksheets and traces in
JSON, which programs write, have only the limit of the file size.
"""

from clearhead.errors import ProblemError

MAX_WORKING_BYTES = 4 * 2**20  # of a file
MAX_VALUES = 100_000  # of a YAML or JSON file: commas and line breaks, before aliases are expanded
MAX_WRITTEN_LINES = 1_000
MAX_WRITTEN_CELLS = 10_000  # of all lines together
MAX_TABLE_CELLS = 50_000  # of a CSV file or a spreadsheet
MAX_UNPACKED_BYTES = 16 * 2**20  # of a spreadsheet
MAX_DOCUMENT = 2**20  # characters of a document
MAX_DOCUMENT_LINE = 100_000  # characters of a line of a document
MAX_DOCUMENT_ITEMS = 5_000  # lines and statements of a document
MAX_SHEET_CELLS = 200_000  # of the exercise: its given matrices and all of its steps
MAX_SHEET_STEPS = 2_000
MAX_SCHEME_BYTES = 2**18
MAX_SCHEME_LINES = 1_000


class WorkLimitError(ProblemError):
    """A limit is exceeded under every convention, so no other one is tried."""

"""The page guide/fields.md: every key of a problem file, from the classes that validate them."""

from clearhead.worksheet.fields import describe_kinds

HEAD = """\
# Keys of a problem file

A *problem file* describes one exercise in YAML or JSON. Its entries are called keys (not to be confused with the keys
of attention). Write a matrix as a list of rows. `clearhead solve --fields all` prints the same list.

"""


def page() -> str:
    """Return the page."""
    return HEAD + describe_kinds()

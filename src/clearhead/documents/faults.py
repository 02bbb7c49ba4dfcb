"""The error inside this package: what is wrong with a document, without its name."""


class DocumentFault(Exception):  # noqa: N818  # it becomes a DataError, with the name of the document
    """A document that cannot be translated; the message states the fact and what to do."""

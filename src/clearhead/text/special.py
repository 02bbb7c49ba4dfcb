"""The tokens that no text holds, and the tag that says into which language to translate."""

PAD, BOS, EOS, UNK = 0, 1, 2, 3  # the ids that every vocabulary of ours begins with
PIECES = ("<pad>", "<s>", "</s>", "<unk>")


def language_tag(language: str) -> str:
    """Return the token that stands before a source sentence of a one-to-many model: `>>hi<<`."""
    return f">>{language}<<"

"""The special tokens, which no text contains, and the tag that selects the target language."""

PAD, BOS, EOS, UNK = 0, 1, 2, 3  # the first ids of every vocabulary that we train
PIECES = ("<pad>", "<s>", "</s>", "<unk>")


def language_tag(language: str) -> str:
    """Return the tag that is put before a source sentence of a one-to-many model: `>>hi<<`."""
    return f">>{language}<<"

"""Functions from sentences to translations with known links, for tests of documents."""

from collections.abc import Callable, Sequence

from clearhead.text.aligned import AlignedTranslation


def identity(sentences: Sequence[str]) -> list[AlignedTranslation]:
    return [AlignedTranslation(text, tuple((i, i) for i in range(len(text.split())))) for text in sentences]


def uppercase(sentences: Sequence[str]) -> list[AlignedTranslation]:
    return [AlignedTranslation(one.text.upper(), one.links) for one in identity(sentences)]


def reversal(sentences: Sequence[str]) -> list[AlignedTranslation]:
    """Reverse the words: the first is linked to the last."""
    translations = []
    for text in sentences:
        words = text.split()
        links = tuple((i, len(words) - 1 - i) for i in range(len(words)))
        translations.append(AlignedTranslation(" ".join(reversed(words)), links))
    return translations


def unlinked(sentences: Sequence[str]) -> list[AlignedTranslation]:
    """Give other words, fewer of them, and no links."""
    return [AlignedTranslation(" ".join("palabra" for _ in text.split()[::2])) for text in sentences]


def nothing(sentences: Sequence[str]) -> list[AlignedTranslation]:
    """Translate everything into nothing, and link words that do not exist."""
    return [AlignedTranslation("", ((0, 5), (-3, 0))) for _ in sentences]


def by_table(table: dict[str, tuple[str, str]]) -> Callable[[Sequence[str]], list[AlignedTranslation]]:
    """Translate with a table from a sentence to its translation and its links in Pharaoh format: `0-0 1-2`."""

    def translate(sentences: Sequence[str]) -> list[AlignedTranslation]:
        translations = []
        for sentence in sentences:
            text, links = table[sentence]
            pairs = [link.split("-") for link in links.split()]
            translations.append(AlignedTranslation(text, tuple((int(one), int(other)) for one, other in pairs)))
        return translations

    return translate


ALL = (identity, uppercase, reversal, unlinked, nothing)

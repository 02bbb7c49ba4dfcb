"""Finish a sentence in both languages: capital letter, punctuation, and the pairs of words that it combines."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PhrasePair:
    """One sentence pair of the phrasebook, with the pairs of words that it combines."""

    english: str
    spanish: str
    pairs: tuple[str, ...] = ()


def capital(text: str) -> str:
    """Begin with a capital letter."""
    return text[:1].upper() + text[1:]


def state(english: str, spanish: str, pairs: tuple[str, ...] = ()) -> PhrasePair:
    """End with a full stop."""
    return PhrasePair(f"{capital(english)}.", f"{capital(spanish)}.", pairs)


def ask(english: str, spanish: str, pairs: tuple[str, ...] = ()) -> PhrasePair:
    """Add question marks."""
    return PhrasePair(f"{capital(english)}?", f"¿{capital(spanish)}?", pairs)


def exclaim(english: str, spanish: str, pairs: tuple[str, ...] = ()) -> PhrasePair:
    """Add exclamation marks."""
    return PhrasePair(f"{capital(english)}!", f"¡{capital(spanish)}!", pairs)


def ways_to_write(english: str, spanish: str) -> dict[str, str]:
    """Return every spelling of a phrase with its Spanish: without punctuation, with a full stop, as an exclamation.

    A question is written with or without its question mark.
    """
    bare, plain = english.rstrip(".!?"), spanish.strip("¡!¿?.")
    if english.endswith("?"):
        return {bare: plain, f"{bare}?": f"¿{plain}?"}
    return {bare: plain, f"{bare}.": f"{plain}.", f"{bare}!": f"¡{plain}!"}

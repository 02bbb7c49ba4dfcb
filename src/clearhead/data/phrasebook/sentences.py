"""A finished sentence in both languages: its capital, its stop or its marks, and the pairs of words that it joins."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PhrasePair:
    """One pair of the phrasebook, with the pairs of words that it joins."""

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
    """Put question marks."""
    return PhrasePair(f"{capital(english)}?", f"¿{capital(spanish)}?", pairs)


def exclaim(english: str, spanish: str, pairs: tuple[str, ...] = ()) -> PhrasePair:
    """Put exclamation marks."""
    return PhrasePair(f"{capital(english)}!", f"¡{capital(spanish)}!", pairs)


def ways_to_write(english: str, spanish: str) -> dict[str, str]:
    """Return a phrase in every way it is written, each with its Spanish: without a mark, with a full stop, shouted.

    A question is written with its mark or without.
    """
    bare, plain = english.rstrip(".!?"), spanish.strip("¡!¿?.")
    if english.endswith("?"):
        return {bare: plain, f"{bare}?": f"¿{plain}?"}
    return {bare: plain, f"{bare}.": f"{plain}.", f"{bare}!": f"¡{plain}!"}

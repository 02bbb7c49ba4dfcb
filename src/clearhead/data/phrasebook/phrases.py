"""Noun phrases and subjects: determiner, noun, adjective and owner, agreeing in both languages.

Every phrase has the pairs of words that it combines, which decide the split of a sentence.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TypeVar

from clearhead.data.phrasebook.verbs import ME, THEY, THIRD, WE, YOU, Verb
from clearhead.data.phrasebook.words import FITTING, NAMES, NUMBERS, Adjective, Gender, Noun, nouns

Option = TypeVar("Option")

ARTICLE = ("el", "la", "los", "las")
# english -> Spanish with el, la, los, las words; one English form in the singular, another in the plural
_SINGULAR = {
    "the": ARTICLE, "a": ("un", "una"), "this": ("este", "esta"), "that": ("ese", "esa"), "my": ("mi", "mi"),
    "your": ("tu", "tu"), "his": ("su", "su"), "her": ("su", "su"), "our": ("nuestro", "nuestra"),
    "their": ("su", "su"),
}  # fmt: skip
_PLURAL = {
    "the": ("los", "las"), "some": ("unos", "unas"), "these": ("estos", "estas"), "those": ("esos", "esas"),
    "my": ("mis", "mis"), "your": ("tus", "tus"), "his": ("sus", "sus"), "her": ("sus", "sus"),
    "our": ("nuestros", "nuestras"), "their": ("sus", "sus"), "many": ("muchos", "muchas"),
    "any": ("", ""), "": ("", ""),
    **{english: (spanish, spanish) for english, spanish in NUMBERS.items()},
}  # fmt: skip
POSSESSIVES = ("my", "your", "his", "her", "our", "their")
_DEFINITE = ("the", "the", "the", "the", "this", "that", "my", "your", "his", "her", "our", "their")
_DEFINITE_PLURAL = ("the", "the", "the", "the", "these", "those", *POSSESSIVES)
_COUNTS = tuple(NUMBERS)[:9]  # two to ten


class Draw:
    """A stream of random choices, the same on every platform and Python version: it uses only `Random.random`."""

    def __init__(self, seed: int | str) -> None:
        self._next = Random(seed).random

    def choose(self, options: Sequence[Option]) -> Option:
        """Return one of the options."""
        return options[int(self._next() * len(options))]

    def happens(self, chance: float) -> bool:
        """Return True with this probability."""
        return self._next() < chance


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase in both languages; a pronoun has no `noun`, and no Spanish because Spanish drops it."""

    english: str
    spanish: str
    person: int = THIRD
    gender: Gender = "m"
    noun: str = ""
    pairs: tuple[str, ...] = ()
    is_personal: bool = False  # a direct object takes the personal a

    @property
    def is_plural(self) -> bool:
        """Whether its adjectives are plural."""
        return self.person >= WE

    def joined(self, word: str) -> tuple[str, ...]:
        """Return its pairs with a word: none for a pronoun, two for Ana and Luis."""
        return tuple(pair(noun, word) for noun in self.noun.split("&")) if self.noun else ()


PRONOUNS = (
    Phrase("I", "", ME), Phrase("you", "", YOU), Phrase("he", "", THIRD), Phrase("she", "", THIRD, "f"),
    Phrase("we", "", WE), Phrase("they", "", THEY),
)  # fmt: skip
OBJECT_PRONOUNS = {"me": "me", "you": "te", "him": "lo", "her": "la", "us": "nos", "them": "los"}


_AGAIN = (PRONOUNS[0], PRONOUNS[1], PRONOUNS[2], PRONOUNS[4], PRONOUNS[5])


def pronoun_for(subject: Phrase) -> Phrase:
    """Return the pronoun that replaces a subject when it is mentioned again."""
    return PRONOUNS[3] if subject.person == THIRD and subject.gender == "f" else _AGAIN[subject.person]


def pair(first: str, second: str) -> str:
    """Return the name of a pair of words, independent of their order in the sentence."""
    return f"{first}+{second}" if first < second else f"{second}+{first}"


def from_(spanish: str) -> str:
    """Put `de` before: del before el."""
    return "del " + spanish[3:] if spanish.startswith("el ") else "de " + spanish


def to(spanish: str) -> str:
    """Put `a` before: al before el."""
    return "al " + spanish[3:] if spanish.startswith("el ") else "a " + spanish


def and_(spanish: str) -> str:
    """Put `y` before: e before the sound of i."""
    return ("e " if spanish.startswith(("I", "i", "hi")) else "y ") + spanish


def article(noun: Noun, is_plural: bool = False) -> str:
    """Return el, la, los or las; a feminine noun with a stressed initial a takes el: el agua fría."""
    return "el" if noun.english == "water" else ARTICLE[2 * is_plural + (noun.gender == "f")]


def indefinite(word: str) -> str:
    """Return a or an."""
    return "an" if word[0] in "aeiouAEIOU" else "a"


def build(noun: Noun, determiner: str, adjective: Adjective | None = None, is_plural: bool = False) -> Phrase:
    """Build a noun phrase, with the adjective before the noun in English and after it in Spanish."""
    table = _PLURAL if is_plural else _SINGULAR
    form = noun.english_plural if is_plural else noun.english
    described = f"{adjective.english} {form}" if adjective else form
    shown = determiner
    if noun.is_mass and determiner in ("", "any"):
        before = ""
    elif determiner == "the":
        before = article(noun, is_plural)
    else:
        before = table[determiner][noun.gender == "f"]
        shown = indefinite(described) if determiner == "a" else determiner
    spanish = noun.spanish_plural if is_plural else noun.spanish
    if adjective:
        agreeing = adjective.agree(noun.gender, is_plural)
        spanish = f"{agreeing} {spanish}" if adjective.copula == "-" else f"{spanish} {agreeing}"
    return Phrase(
        f"{shown} {described}" if shown else described,
        f"{before} {spanish}" if before else spanish,
        THEY if is_plural else THIRD,
        noun.gender,
        noun.english,
        (pair(adjective.english, noun.english),) if adjective else (),
    )


def draw_adjective(draw: Draw, noun: Noun, chance: float) -> Adjective | None:
    """Draw an adjective for the noun with the given probability."""
    choices = FITTING[noun.english]
    return draw.choose(choices) if choices and draw.happens(chance) else None


def definite(draw: Draw, noun: Noun, adjectives: float = 0.3, owners: float = 0.0) -> Phrase:
    """Draw the, this, that or a possessive for a noun, or an owner; family always belongs to someone."""
    is_plural = not noun.is_mass and not noun.fits("single") and draw.happens(0.3)
    # "my tall sister" would imply several sisters
    adjective = None if noun.fits("family") else draw_adjective(draw, noun, adjectives)
    if noun.fits("family mine"):
        return build(noun, draw.choose(POSSESSIVES), adjective, is_plural)
    if noun.fits("person place ride task") and not noun.fits("own house garden"):
        determiners = ("the", "the", "these" if is_plural else "this", "those" if is_plural else "that")
        return build(noun, draw.choose(determiners), adjective, is_plural)
    if not noun.fits("person animal") and draw.happens(owners):
        return draw_owned(draw, build(noun, "the", adjective, is_plural))
    return build(noun, draw.choose(_DEFINITE_PLURAL if is_plural else _DEFINITE), adjective, is_plural)


_OWNERS = nouns("family friend teacher doctor neighbour boy girl")


def draw_owned(draw: Draw, thing: Phrase) -> Phrase:
    """Add an owner: the doctor's red car, el coche rojo del médico."""
    if draw.happens(0.4):
        owner = draw_name(draw)
    else:
        noun = draw.choose(_OWNERS)
        owner = build(noun, draw.choose(POSSESSIVES) if noun.fits("family mine") else "the")
    return Phrase(
        f"{owner.english}'s {thing.english.removeprefix('the ')}",
        f"{thing.spanish} {from_(owner.spanish)}",
        thing.person,
        thing.gender,
        thing.noun,
        (*thing.pairs, pair(thing.noun, owner.noun)),
    )


def draw_name(draw: Draw) -> Phrase:
    """Draw the name of a person."""
    english = draw.choose(tuple(NAMES))
    spanish, gender = NAMES[english]
    return Phrase(english, spanish, THIRD, gender, english, (), True)


_PEOPLE = nouns("person family")
_TOGETHER = tuple((first, second) for first in NAMES for second in NAMES if first != second)


def draw_subject(draw: Draw, pronouns: float = 0.5) -> Phrase:
    """Draw a subject who can act: a pronoun, a name, people, or two of them."""
    if draw.happens(pronouns):
        return draw.choose(PRONOUNS)
    if draw.happens(0.3):
        return draw_name(draw)
    if draw.happens(0.12):
        return together(draw)
    return definite(draw, draw.choose(_PEOPLE), adjectives=0.15)


def together(draw: Draw) -> Phrase:
    """Draw two people: Ana and Luis; my brother and I."""
    if draw.happens(0.5):
        first, second = draw.choose(_TOGETHER)
        spanish = f"{NAMES[first][0]} {and_(NAMES[second][0])}"
        gender: Gender = "f" if NAMES[first][1] == NAMES[second][1] == "f" else "m"
        return Phrase(f"{first} and {second}", spanish, THEY, gender, f"{first}&{second}", (pair(first, second),))
    other = build(draw.choose(nouns("family friend")), "my")
    return Phrase(f"{other.english} and I", f"{other.spanish} y yo", WE, "m", other.noun)


# "Bring her hot milk" would have two meanings; with "his" it has one, and the same Spanish.
_FOR_HER = frozenset({"bring", "make", "buy", "read", "write", "sing", "sell", "find"})
_SOUGHT = frozenset({"see", "look for", "find", "visit", "help", "wait for", "know"})  # "I see a dog"


def draw_object(draw: Draw, noun: Noun, verb: Verb, is_denied: bool) -> Phrase:
    """Draw a direct object; its determiners depend on the verb and on whether it is negated."""
    adjective = draw_adjective(draw, noun, 0.35)
    if verb.takes_bare and noun.is_mass and draw.happens(0.6):
        return build(noun, "", adjective)
    if verb.takes_bare and not noun.is_mass and draw.happens(0.5):
        if is_denied:
            return build(noun, "any", adjective, is_plural=True)
        determiner = draw.choose(("a", "a", "a", "", "", "some", "many", *_COUNTS[:5]))
        return build(noun, determiner, adjective, is_plural=determiner != "a")
    is_wanted = verb.base != "look for" or not noun.fits("person") or noun.fits("doctor teacher")
    if verb.base in _SOUGHT and is_wanted and not is_denied and not noun.fits("family") and draw.happens(0.35):
        # An unspecific person takes no personal a: busco un médico.
        return _with_a(build(noun, "a", adjective), noun.fits("person") and verb.base != "look for")
    adjectives = 0.0 if verb.base in ("open", "close", "wash") else 0.3  # nobody opens an open door
    phrase = _with_a(definite(draw, noun, adjectives, owners=0.15), noun.fits("person family animal"))
    if verb.base in _FOR_HER and phrase.english.startswith("her "):
        return replace(phrase, english="his " + phrase.english[4:])
    return phrase


def _with_a(phrase: Phrase, is_personal: bool) -> Phrase:
    return replace(phrase, is_personal=True) if is_personal else phrase

"""Sentences that say how, what, where and how old someone or something is, and what there is.

One English verb, to be, is ser, estar, tener, haber or hacer in Spanish.
"""

from clearhead.data.phrasebook.clauses import SHORT_BE, SHORT_NOT, there
from clearhead.data.phrasebook.phrases import (
    PRONOUNS,
    Draw,
    Phrase,
    build,
    definite,
    from_,
    indefinite,
    name,
    pair,
    somebody,
)
from clearhead.data.phrasebook.sentences import Sentence, ask, exclaim, state
from clearhead.data.phrasebook.verbs import BY_NAME, ESTAR, SER
from clearhead.data.phrasebook.words import (
    ADJECTIVES,
    COUNTRIES,
    FITTING,
    NOUNS,
    NUMBERS,
    PROFESSIONS,
    Adjective,
    nouns,
)

_BE = ("am", "are", "is", "are", "are")
_OF_PEOPLE = tuple(
    adjective for adjective in ADJECTIVES if set(["person", "family", "mother"]) & set(adjective.fitting.split())
)
_HAVING = {  # I am hungry: tengo hambre; very hungry: mucha hambre
    "hungry": ("hambre", "mucha"), "thirsty": ("sed", "mucha"), "cold": ("frío", "mucho"), "hot": ("calor", "mucho"),
    "sleepy": ("sueño", "mucho"), "afraid": ("miedo", "mucho"), "in a hurry": ("prisa", "mucha"),
    "lucky": ("suerte", "mucha"), "right": ("razón", ""),
}  # fmt: skip
_TENER = BY_NAME["have"].present
_COUNTABLE = tuple(noun for noun in NOUNS if not noun.is_mass)


def be(draw: Draw, subject: Phrase, rest: str, is_denied: bool = False) -> str:
    """Say in English what the subject is or is not, contracted half the time."""
    helper, is_short = _BE[subject.person], draw.happens(0.5)
    if is_denied:
        denied = f"{helper} not"
        if helper == "am" and is_short:
            return f"I'm not {rest}"
        return f"{subject.english} {SHORT_NOT.get(denied, denied) if is_short else denied} {rest}"
    begin = f"{subject.english} {helper}"
    return f"{SHORT_BE.get(begin, begin) if is_short else begin} {rest}"


def anything(draw: Draw, pronouns: float = 0.25) -> tuple[Phrase, Adjective]:
    """Draw a subject, and an adjective that can be said of it."""
    if draw.happens(pronouns):
        return draw.choose(PRONOUNS), draw.choose(_OF_PEOPLE)
    noun = draw.choose([noun for noun in NOUNS if FITTING[noun.english]])
    subject = definite(draw, noun, adjectives=0.0, owners=0.2)
    return subject, draw.choose(FITTING[noun.english])


def joined(subject: Phrase, word: str) -> tuple[str, ...]:
    """Return the pairs of a subject and what is said of it."""
    return (*subject.pairs, pair(subject.noun, word)) if subject.noun else subject.pairs


def copula(adjective: Adjective, person: int) -> str:
    """Return the form of ser or estar that the adjective needs."""
    return (SER if adjective.copula == "ser" else ESTAR)[person]


_DEGREES = (("", ""), ("", ""), ("very ", "muy "), ("too ", "demasiado "))


def quality(draw: Draw) -> Sentence:
    """The houses are very old. Is the door open?"""
    subject, adjective = anything(draw)
    said = adjective.agree(subject.gender, subject.is_plural)
    is_absolute = adjective.english in ("open", "closed", "broken", "English", "Spanish", "delicious")
    much, mucho = ("", "") if is_absolute else draw.choose(_DEGREES)
    is_verb = copula(adjective, subject.person)
    pairs = joined(subject, adjective.english)
    if draw.happens(0.25):
        english = f"{_BE[subject.person]} {subject.english} {much}{adjective.english}"
        return ask(english, f"{is_verb} {mucho}{said} {subject.spanish}".strip(), pairs)
    is_denied = draw.happens(0.25)
    no = "no " if is_denied else ""
    return state(
        be(draw, subject, much + adjective.english, is_denied),
        f"{subject.spanish} {no}{is_verb} {mucho}{said}".strip(),
        pairs,
    )


def why_state(draw: Draw) -> Sentence:
    """Why are you sad?"""
    subject = somebody(draw, 0.4)
    adjective = draw.choose([adjective for adjective in _OF_PEOPLE if adjective.copula == "estar"])
    said = adjective.agree(subject.gender, subject.is_plural)
    return ask(
        f"why {_BE[subject.person]} {subject.english} {adjective.english}",
        f"por qué {copula(adjective, subject.person)} {said} {subject.spanish}".strip(),
        joined(subject, adjective.english),
    )


def how_quality(draw: Draw) -> Sentence:
    """How pretty the garden is!"""
    subject, adjective = anything(draw, pronouns=0.0)
    said = adjective.agree(subject.gender, subject.is_plural)
    return exclaim(
        f"how {adjective.english} {subject.english} {_BE[subject.person]}",
        f"qué {said} {copula(adjective, subject.person)} {subject.spanish}",
        joined(subject, adjective.english),
    )


def what_a(draw: Draw) -> Sentence:
    """What a pretty house!"""
    noun = draw.choose(_COUNTABLE)
    adjectives = [adjective for adjective in FITTING[noun.english] if adjective.copula == "ser"]
    if not adjectives:
        noun, adjectives = nouns("house")[0], list(FITTING["house"][:8])
    adjective, is_plural = draw.choose(adjectives), draw.happens(0.3)
    form = noun.english_plural if is_plural else noun.english
    a = "" if is_plural else indefinite(adjective.english) + " "
    spanish = noun.spanish_plural if is_plural else noun.spanish
    said = adjective.agree(noun.gender, is_plural)
    return exclaim(
        f"what {a}{adjective.english} {form}", f"qué {spanish} más {said}", (pair(adjective.english, noun.english),)
    )


_MORE = {"tall": "taller", "big": "bigger", "small": "smaller", "cheap": "cheaper", "old": "older", "long": "longer"}


def comparison(draw: Draw) -> Sentence:
    """My brother is taller than Ana. The book is as interesting as the letter."""
    adjective = draw.choose([adjective for adjective in ADJECTIVES if adjective.english in (*_MORE, *_COMPARED)])
    choices = nouns(adjective.fitting)
    first = definite(draw, draw.choose(choices), 0.0)
    second = definite(draw, draw.choose(choices), 0.0)
    if adjective.english in ("tall", "intelligent", "kind") and draw.happens(0.4):
        second = name(draw)
    said = adjective.agree(first.gender, first.is_plural)
    if draw.happens(0.3):
        english, spanish = f"as {adjective.english} as", f"tan {said} como"
    else:
        english, spanish = f"{_MORE.get(adjective.english, 'more ' + adjective.english)} than", f"más {said} que"
    verb = SER[first.person]
    pairs = (*joined(first, adjective.english), *joined(second, adjective.english))
    if first.english == second.english:
        second = Phrase("that", "eso")
    return state(
        be(draw, first, f"{english} {second.english}"), f"{first.spanish} {verb} {spanish} {second.spanish}", pairs
    )


_COMPARED = ("expensive", "interesting", "famous", "intelligent", "difficult", "kind")


def having(draw: Draw) -> Sentence:
    """I am very hungry. Is your sister cold?"""
    subject = somebody(draw)
    word = draw.choose(tuple(_HAVING))
    noun, much = _HAVING[word]
    is_very = bool(much) and word != "in a hurry" and draw.happens(0.3)
    english = f"very {word}" if is_very else word
    spanish = f"{_TENER[subject.person]} {much + ' ' if is_very else ''}{noun}"
    pairs = joined(subject, word)
    if draw.happens(0.25):
        return ask(f"{_BE[subject.person]} {subject.english} {english}", f"{subject.spanish} {spanish}".strip(), pairs)
    is_denied = not is_very and draw.happens(0.3)
    no = "no " if is_denied else ""
    return state(be(draw, subject, english, is_denied), f"{subject.spanish} {no}{spanish}".strip(), pairs)


def age(draw: Draw) -> Sentence:
    """I am ten years old. How old is your sister?"""
    subject = somebody(draw)
    if subject.noun and draw.happens(0.3):
        return ask(
            f"how old {_BE[subject.person]} {subject.english}",
            f"cuántos años {_TENER[subject.person]} {subject.spanish}",
            joined(subject, "old"),
        )
    number = draw.choose(tuple(NUMBERS))
    spanish = f"{subject.spanish} {_TENER[subject.person]} {NUMBERS[number]} años"
    return state(be(draw, subject, f"{number} years old"), spanish.strip(), joined(subject, number))


def profession(draw: Draw) -> Sentence:
    """She is a doctor. My brothers aren't teachers. He is a famous writer."""
    subject = draw.choose(PRONOUNS) if draw.happens(0.5) else draw.choose((name, _relative))(draw)
    word = draw.choose(tuple(PROFESSIONS))
    forms = PROFESSIONS[word]
    is_plural, form = subject.is_plural, forms[2 * subject.is_plural + (subject.gender == "f")]
    no, is_denied = draw.choose((("", False), ("", False), ("no ", True)))
    verb, pairs = SER[subject.person], joined(subject, word)
    if draw.happens(0.3):
        adjective = draw.choose(_DESCRIBING)
        described = f"{adjective.english} {word}"
        english = f"{described}s" if is_plural else f"{indefinite(described)} {described}"
        one = ("un", "una", "unos", "unas")[2 * is_plural + (subject.gender == "f")]
        shown = "" if is_plural else one + " "
        spanish = f"{subject.spanish} {no}{verb} {shown}{form} {adjective.agree(subject.gender, is_plural)}"
        pairs = (*pairs, pair(adjective.english, word))
        return state(be(draw, subject, english, is_denied), spanish.strip(), pairs)
    english = f"{word}s" if is_plural else f"{indefinite(word)} {word}"
    if draw.happens(0.25):
        spanish = f"{verb} {form} {subject.spanish}"
        return ask(f"{_BE[subject.person]} {subject.english} {english}", spanish.strip(), pairs)
    return state(be(draw, subject, english, is_denied), f"{subject.spanish} {no}{verb} {form}".strip(), pairs)


_DESCRIBING = tuple(a for a in ADJECTIVES if a.english in ("famous", "young", "intelligent", "English", "Spanish"))


def _relative(draw: Draw) -> Phrase:
    return definite(draw, draw.choose(nouns("family")), 0.0)


def origin(draw: Draw) -> Sentence:
    """Ana is from Spain. Where are they from?"""
    subject = somebody(draw)
    verb = SER[subject.person]
    if subject.noun and draw.happens(0.3):
        return ask(
            f"where {_BE[subject.person]} {subject.english} from", f"de dónde {verb} {subject.spanish}", subject.pairs
        )
    country = draw.choose(tuple(COUNTRIES))
    is_denied = draw.happens(0.25)
    spanish = f"{subject.spanish} {'no ' if is_denied else ''}{verb} de {COUNTRIES[country]}"
    return state(be(draw, subject, f"from {country}", is_denied), spanish.strip(), joined(subject, country))


_WHERE = (
    ("near", "cerca"), ("behind", "detrás"), ("next to", "al lado"), ("in front of", "delante"), ("under", "debajo"),
)  # fmt: skip
_MOVABLE = nouns("thing clothes animal reading food")
_BUILDINGS = nouns("building park garden")


def location(draw: Draw) -> Sentence:
    """The keys are on the table. Where is the station? The museum is near the park."""
    is_building = draw.happens(0.4)
    noun = draw.choose(_BUILDINGS if is_building else _MOVABLE)
    subject = definite(draw, noun, 0.2, owners=0.2)
    verb = ESTAR[subject.person]
    if draw.happens(0.25):
        return ask(f"where {_BE[subject.person]} {subject.english}", f"dónde {verb} {subject.spanish}", subject.pairs)
    where = _somewhere(draw, is_building)
    english, spanish = where.english, where.spanish
    if where.noun == noun.english:
        return ask(f"where {_BE[subject.person]} {subject.english}", f"dónde {verb} {subject.spanish}", subject.pairs)
    pairs = joined(subject, where.noun)
    if draw.happens(0.2):
        return ask(f"{_BE[subject.person]} {subject.english} {english}", f"{verb} {subject.spanish} {spanish}", pairs)
    is_denied = draw.happens(0.2)
    return state(
        be(draw, subject, english, is_denied), f"{subject.spanish} {'no ' if is_denied else ''}{verb} {spanish}", pairs
    )


def _somewhere(draw: Draw, is_building: bool) -> Phrase:
    if is_building:
        place = build(draw.choose(_BUILDINGS), "the")
        english, spanish = draw.choose(_WHERE[:4])
        return Phrase(f"{english} {place.english}", f"{spanish} {from_(place.spanish)}", noun=place.noun)
    if draw.happens(0.4):
        noun = draw.choose(nouns("house school garden kitchen park hotel shop"))
        return Phrase(*there(noun), noun=noun.english)
    place = build(draw.choose(nouns("table chair box bag")), "the")
    if place.noun in ("box", "bag"):
        return Phrase(f"in {place.english}", f"en {place.spanish}", noun=place.noun)
    english, spanish = draw.choose((("on", "en"), ("under", "debajo"), ("next to", "al lado"), ("behind", "detrás")))
    behind = place.spanish if english == "on" else from_(place.spanish)
    return Phrase(f"{english} {place.english}", f"{spanish} {behind}", noun=place.noun)

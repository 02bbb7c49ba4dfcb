"""Sentences that say how, what and how old someone or something is, and who is from where.

One English verb, to be, is ser, estar or tener in Spanish.
"""

from clearhead.data.phrasebook.clauses import SHORT_BE, SHORT_NOT, draw_clause
from clearhead.data.phrasebook.phrases import (
    POSSESSIVES,
    PRONOUNS,
    Draw,
    Phrase,
    build,
    definite,
    draw_adjective,
    draw_name,
    draw_owned,
    draw_subject,
    indefinite,
    pair,
    pronoun_for,
)
from clearhead.data.phrasebook.sentences import PhrasePair, ask, exclaim, state
from clearhead.data.phrasebook.verbs import BY_NAME, ESTAR, SER
from clearhead.data.phrasebook.words import (
    ADJECTIVES,
    COUNTRIES,
    NOUNS,
    NUMBERS,
    PREDICATES,
    PROFESSIONS,
    Adjective,
    Noun,
    nouns,
)

BE = ("am", "are", "is", "are", "are")
_OF_PEOPLE = PREDICATES["brother"]  # what can be said of anyone
_HAVING = {  # I am hungry: tengo hambre; very hungry: mucha hambre
    "hungry": ("hambre", "mucha"), "thirsty": ("sed", "mucha"), "cold": ("frío", "mucho"), "hot": ("calor", "mucho"),
    "sleepy": ("sueño", "mucho"), "afraid": ("miedo", "mucho"), "in a hurry": ("prisa", "mucha"),
    "lucky": ("suerte", "mucha"), "right": ("razón", ""),
}  # fmt: skip
_TENER = BY_NAME["have"].present


def be(draw: Draw, subject: Phrase, rest: str, is_denied: bool = False) -> str:
    """Return an English clause with "be" or its negation, contracted half of the time."""
    helper, is_short = BE[subject.person], draw.happens(0.5)
    if is_denied:
        denied = f"{helper} not"
        if helper == "am" and is_short:
            return f"I'm not {rest}"
        return f"{subject.english} {SHORT_NOT.get(denied, denied) if is_short else denied} {rest}"
    begin = f"{subject.english} {helper}"
    return f"{SHORT_BE.get(begin, begin) if is_short else begin} {rest}"


_DESCRIBED = tuple(noun for noun in NOUNS if PREDICATES[noun.english])


def anything(draw: Draw, pronouns: float = 0.25) -> tuple[Phrase, Adjective]:
    """Draw a subject, and an adjective that can describe it."""
    if draw.happens(pronouns):
        return draw.choose(PRONOUNS), draw.choose(_OF_PEOPLE)
    noun = draw.choose(_DESCRIBED)
    subject = definite(draw, noun, adjectives=0.0, owners=0.2)
    return subject, draw.choose(PREDICATES[noun.english])


_STATES = {adjective.english: adjective for adjective in _OF_PEOPLE if adjective.copula == "estar"}
_NEEDS = {"eat": "hungry", "drink": "thirsty", "sleep": "sleepy", "go to bed": "sleepy"}
_REASONS = ("cold", "hot", "sleepy", "afraid", "in a hurry", "tired", "sad", "ill")


def because(draw: Draw) -> PhrasePair:
    """She isn't working because she is tired. I don't want bread because I'm not hungry."""
    first = draw_clause(draw, draw.choose(("progressive", "future", "can")), denied=0.8)
    who = pronoun_for(first.subject)
    verb = first.action.verb.base
    word = _NEEDS[verb] if verb in _NEEDS else draw.choose(_REASONS)
    is_denied = first.is_denied and verb in _NEEDS
    if not first.is_denied and verb not in _NEEDS:
        return state(first.english(), first.spanish(), first.pairs)  # being sad is no reason to buy an apple
    no = "no " if is_denied else ""
    if word in _HAVING:
        reason = f"{no}{_TENER[who.person]} {_HAVING[word][0]}"
    else:
        agreeing = _STATES[word].agree(who.gender, who.is_plural)
        reason = f"{no}{ESTAR[who.person]} {agreeing}"
    english = f"{first.english()} because {be(draw, who, word, is_denied)}"
    return state(english, f"{first.spanish()} porque {reason}", (*first.pairs, pair(first.action.word, word)))


def subject_pairs(subject: Phrase, word: str) -> tuple[str, ...]:
    """Return the word pairs of a subject and its description."""
    return (*subject.pairs, *subject.joined(word))


def copula(adjective: Adjective, person: int) -> str:
    """Return the form of ser or estar that the adjective needs."""
    return (SER if adjective.copula == "ser" else ESTAR)[person]


_DEGREES = (("", ""), ("", ""), ("very ", "muy "), ("too ", "demasiado "))
_ABSOLUTE = frozenset(
    [
        *("open", "closed", "broken", "empty", "English", "Spanish", "delicious", "ill"),
        *("red", "white", "black", "blue", "green"),
    ]
)  # nothing is very broken
_NEVER_TOO = frozenset(["tall", "new", "pretty", "interesting", "famous", "intelligent", "kind", "happy", "clean"])


def quality(draw: Draw) -> PhrasePair:
    """The houses are very old. Is the door open?"""
    subject, adjective = anything(draw)
    agreeing = adjective.agree(subject.gender, subject.is_plural)
    degrees = _DEGREES[:3] if adjective.english in _NEVER_TOO else _DEGREES
    much, mucho = ("", "") if adjective.english in _ABSOLUTE else draw.choose(degrees)
    is_verb = copula(adjective, subject.person)
    pairs = subject_pairs(subject, adjective.english)
    if draw.happens(0.25):
        english = f"{BE[subject.person]} {subject.english} {much}{adjective.english}"
        return ask(english, f"{is_verb} {mucho}{agreeing} {subject.spanish}".strip(), pairs)
    is_denied = draw.happens(0.25)
    no = "no " if is_denied else ""
    return state(
        be(draw, subject, much + adjective.english, is_denied),
        f"{subject.spanish} {no}{is_verb} {mucho}{agreeing}".strip(),
        pairs,
    )


_SHOWN = nouns("family friend thing clothes vehicle house animal art teacher doctor")
_THIS = {"this": ("este", "esta", "estos", "estas"), "that": ("ese", "esa", "esos", "esas")}


def introduction(draw: Draw) -> PhrasePair:
    """This is my brother. Those are Ana's shoes. It's a pretty house."""
    noun = draw.choose(_SHOWN)
    if not noun.fits("family person") and draw.happens(0.5):
        thing = build(noun, "a", draw_adjective(draw, noun, 0.8))
        return state(be(draw, Phrase("it", ""), thing.english), f"es {thing.spanish}", thing.pairs)
    thing = build(noun, draw.choose(POSSESSIVES), None, not noun.fits("single") and draw.happens(0.3))
    if not noun.fits("family person animal") and draw.happens(0.4):
        thing = draw_owned(draw, build(noun, "the", None, thing.is_plural))
    word = draw.choose(tuple(_THIS))
    shown = {"this": "these", "that": "those"}[word] if thing.is_plural else word
    pointing = _THIS[word][2 * thing.is_plural + (thing.gender == "f")]
    verb, pairs = SER[thing.person], subject_pairs(thing, word)
    if draw.happens(0.25):
        return ask(f"{BE[thing.person]} {shown} {thing.english}", f"{verb} {pointing} {thing.spanish}", pairs)
    no, not_ = ("no ", " not") if draw.happens(0.2) else ("", "")
    return state(f"{shown} {BE[thing.person]}{not_} {thing.english}", f"{pointing} {no}{verb} {thing.spanish}", pairs)


def why_state(draw: Draw) -> PhrasePair:
    """Why are you sad?"""
    subject = draw_subject(draw, 0.4)
    adjective = draw.choose(tuple(_STATES.values()))
    agreeing = adjective.agree(subject.gender, subject.is_plural)
    return ask(
        f"why {BE[subject.person]} {subject.english} {adjective.english}",
        f"por qué {copula(adjective, subject.person)} {agreeing} {subject.spanish}".strip(),
        subject_pairs(subject, adjective.english),
    )


def how_quality(draw: Draw) -> PhrasePair:
    """How pretty the garden is!"""
    subject, adjective = anything(draw, pronouns=0.0)
    if adjective.english in _ABSOLUTE:
        return quality(draw)
    agreeing = adjective.agree(subject.gender, subject.is_plural)
    return exclaim(
        f"how {adjective.english} {subject.english} {BE[subject.person]}",
        f"qué {agreeing} {copula(adjective, subject.person)} {subject.spanish}",
        subject_pairs(subject, adjective.english),
    )


def _admirable(noun: Noun) -> list[Adjective]:
    return [word for word in PREDICATES[noun.english] if word.copula == "ser" and word.english not in _ABSOLUTE]


_ADMIRED = tuple(noun for noun in NOUNS if _admirable(noun) and not noun.is_mass and not noun.fits("family"))


def what_a(draw: Draw) -> PhrasePair:
    """What a pretty house!"""
    noun = draw.choose(_ADMIRED)
    adjective, is_plural = draw.choose(_admirable(noun)), draw.happens(0.3)
    form = noun.english_plural if is_plural else noun.english
    a = "" if is_plural else indefinite(adjective.english) + " "
    spanish = noun.spanish_plural if is_plural else noun.spanish
    agreeing = adjective.agree(noun.gender, is_plural)
    return exclaim(
        f"what {a}{adjective.english} {form}", f"qué {spanish} más {agreeing}", (pair(adjective.english, noun.english),)
    )


_MORE = {"tall": "taller", "big": "bigger", "small": "smaller", "cheap": "cheaper", "kind": "kinder"}
_COMPARED = frozenset([*_MORE, *["expensive", "interesting", "famous", "intelligent", "difficult"]])
_COMPARABLE = tuple(
    (adjective, first, second)
    for adjective in ADJECTIVES
    if adjective.english in _COMPARED
    for first in nouns(adjective.fitting)
    for second in nouns(adjective.fitting)
    if first.kind == second.kind and first != second and not first.fits("mine city") and second.english != "city"
)


def comparison(draw: Draw) -> PhrasePair:
    """My brother is taller than Ana. The book is as interesting as the letter."""
    adjective, one, other = draw.choose(_COMPARABLE)
    first, second = definite(draw, one, 0.0), definite(draw, other, 0.0)
    if adjective.english in ("tall", "intelligent", "kind") and draw.happens(0.4):
        second = draw_name(draw)
    agreeing = adjective.agree(first.gender, first.is_plural)
    if draw.happens(0.3):
        english, spanish = f"as {adjective.english} as", f"tan {agreeing} como"
    else:
        english, spanish = f"{_MORE.get(adjective.english, 'more ' + adjective.english)} than", f"más {agreeing} que"
    verb = SER[first.person]
    pairs = (*subject_pairs(first, adjective.english), *subject_pairs(second, adjective.english))
    return state(
        be(draw, first, f"{english} {second.english}"), f"{first.spanish} {verb} {spanish} {second.spanish}", pairs
    )


def having(draw: Draw) -> PhrasePair:
    """I am very hungry. Is your sister cold?"""
    subject = draw_subject(draw)
    word = draw.choose(tuple(_HAVING))
    noun, much = _HAVING[word]
    is_very = bool(much) and word != "in a hurry" and draw.happens(0.3)
    english = f"very {word}" if is_very else word
    spanish = f"{_TENER[subject.person]} {much + ' ' if is_very else ''}{noun}"
    pairs = subject_pairs(subject, word)
    if draw.happens(0.25):
        return ask(f"{BE[subject.person]} {subject.english} {english}", f"{subject.spanish} {spanish}".strip(), pairs)
    is_denied = not is_very and draw.happens(0.3)
    no = "no " if is_denied else ""
    return state(be(draw, subject, english, is_denied), f"{subject.spanish} {no}{spanish}".strip(), pairs)


_AGED = nouns("brother sister daughter friend boy girl")
_AGES = tuple(NUMBERS)[3:]  # five to twenty


def age(draw: Draw) -> PhrasePair:
    """I am ten years old. How old is your sister?"""
    subject = draw.choose((*PRONOUNS, draw_name(draw), draw_name(draw), *(definite(draw, noun, 0.0) for noun in _AGED)))
    if subject.noun and draw.happens(0.3):
        return ask(
            f"how old {BE[subject.person]} {subject.english}",
            f"cuántos años {_TENER[subject.person]} {subject.spanish}",
            subject_pairs(subject, "old"),
        )
    number = draw.choose(_AGES)
    spanish = f"{subject.spanish} {_TENER[subject.person]} {NUMBERS[number]} años"
    return state(be(draw, subject, f"{number} years old"), spanish.strip(), subject_pairs(subject, number))


def profession(draw: Draw) -> PhrasePair:
    """She is a doctor. My brothers aren't teachers. He is a famous writer."""
    subject = draw.choose(PRONOUNS) if draw.happens(0.5) else draw.choose((draw_name, _relative))(draw)
    word = draw.choose(tuple(PROFESSIONS))
    forms = PROFESSIONS[word]
    is_plural, form = subject.is_plural, forms[2 * subject.is_plural + (subject.gender == "f")]
    no, is_denied = draw.choose((("", False), ("", False), ("no ", True)))
    verb, pairs = SER[subject.person], subject_pairs(subject, word)
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
        return ask(f"{BE[subject.person]} {subject.english} {english}", spanish.strip(), pairs)
    return state(be(draw, subject, english, is_denied), f"{subject.spanish} {no}{verb} {form}".strip(), pairs)


_DESCRIBING = tuple(a for a in ADJECTIVES if a.english in ("famous", "young", "intelligent", "English", "Spanish"))


def _relative(draw: Draw) -> Phrase:
    return definite(draw, draw.choose(nouns("family")), 0.0)


def origin(draw: Draw) -> PhrasePair:
    """Ana is from Spain. Where are they from?"""
    subject = draw_subject(draw)
    verb = SER[subject.person]
    if subject.noun and draw.happens(0.3):
        return ask(
            f"where {BE[subject.person]} {subject.english} from", f"de dónde {verb} {subject.spanish}", subject.pairs
        )
    country = draw.choose(tuple(COUNTRIES))
    is_denied = draw.happens(0.25)
    spanish = f"{subject.spanish} {'no ' if is_denied else ''}{verb} de {COUNTRIES[country]}"
    return state(be(draw, subject, f"from {country}", is_denied), spanish.strip(), subject_pairs(subject, country))

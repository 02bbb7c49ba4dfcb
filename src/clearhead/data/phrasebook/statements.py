"""Sentences in which somebody does something: statements, wishes, orders, gifts and reported speech."""

from clearhead.data.phrasebook.actions import TENSES, Action, draw_action, giving, is_same, taking, wanting
from clearhead.data.phrasebook.clauses import Clause, draw_clause
from clearhead.data.phrasebook.phrases import (
    OBJECT_PRONOUNS,
    PRONOUNS,
    Draw,
    Phrase,
    build,
    draw_adjective,
    draw_subject,
    pair,
    pronoun_for,
    to,
)
from clearhead.data.phrasebook.sentences import PhrasePair, ask, exclaim, state
from clearhead.data.phrasebook.verbs import BY_NAME, GO, KNOW_THAT, ME, SAY, TAKING, THINK, WE, YOU, Verb
from clearhead.data.phrasebook.words import nouns

COMMON_TENSES = ("present", "past", *TENSES)


def statement(draw: Draw) -> PhrasePair:
    """She buys the red shoes. I don't want any apples."""
    clause = draw_clause(draw, draw.choose(COMMON_TENSES))
    return state(clause.english(), clause.spanish(), clause.pairs)


WHOM = tuple(BY_NAME[verb] for verb in ("see", "look for", "visit", "help", "wait for", "know", "listen to"))


def draw_addressee(draw: Draw) -> Phrase:
    """Draw a subject that questions are asked about, which is not I."""
    subject = draw_subject(draw)
    return PRONOUNS[1] if subject.english == "I" else subject


def wish(draw: Draw) -> PhrasePair:
    """I want to buy a car. Do we have to wait for the bus?"""
    is_asked = draw.happens(0.3)
    subject = draw_addressee(draw) if is_asked else draw_subject(draw)
    is_denied = not is_asked and draw.happens(0.3)
    inner = draw_action(draw, "future", is_denied)
    clause = Clause(subject, wanting(draw, inner, subject), "present", is_denied, draw.happens(0.5))
    if is_asked:
        return ask(clause.english_question(), clause.spanish(), clause.pairs)
    return state(clause.english(), clause.spanish(), clause.pairs)


def order(draw: Draw) -> PhrasePair:
    """Open the window, please. Don't eat the cake!"""
    is_denied = draw.happens(0.4)
    action = draw_action(draw, "order", is_denied)
    verb = action.verb
    if "order" not in verb.tenses:
        action = taking(draw, BY_NAME["open"])
        verb = action.verb
    not_ = draw.choose(("don't ", "do not ")) if is_denied else ""
    english = f"{not_}{verb.base}{action.english}"
    spanish = f"{'no ' + verb.forbidden if is_denied else verb.imperative}{action.spanish}"
    if draw.happens(0.5):
        return state(english + ", please", spanish + ", por favor", action.pairs)
    return exclaim(english, spanish, action.pairs)


def let_us(draw: Draw) -> PhrasePair:
    """Let's go to the beach. Let's eat the cake!"""
    action = draw_action(draw, "future")
    if action.verb is GO:
        english, spanish = f"let's go{action.english}", f"vamos{action.spanish}"
    else:
        english = f"let's {action.verb.base}{action.english}"
        spanish = f"vamos a {action.verb.attached(WE)}{action.spanish}"
    if not action.has_time and draw.happens(0.25):
        when, cuando = draw.choose(
            (("now", "ahora"), ("tomorrow", "mañana"), ("today", "hoy"), ("on Sunday", "el domingo"))
        )
        english, spanish = f"{english} {when}", f"{spanish} {cuando}"
    return (exclaim if draw.happens(0.4) else state)(english, spanish, action.pairs)


def object_pronoun(draw: Draw) -> PhrasePair:
    """She sees me. They aren't waiting for us."""
    is_asked = draw.happens(0.2)
    subject = draw_addressee(draw) if is_asked else draw_subject(draw)
    verb = draw.choose(WHOM)
    whom = draw.choose([word for word in OBJECT_PRONOUNS if not is_same(subject, word)])
    tense = draw.choose([tense for tense in TENSES if tense in verb.tenses])
    action = Action(verb, f" {whom}", clitic=OBJECT_PRONOUNS[whom] + " ")
    clause = Clause(subject, action, tense, not is_asked and draw.happens(0.3), draw.happens(0.5))
    if is_asked:
        return ask(clause.english_question(), clause.spanish(), clause.pairs)
    return state(clause.english(), clause.spanish(), clause.pairs)


_TWICE = (
    ("look for", "find", "thing clothes dog cat"),
    ("buy", "eat", "food"),
    ("make", "drink", "coffee tea"),
    ("buy", "sell", "vehicle house table"),
    ("find", "open", "box bag"),
    ("buy", "read", "book"),
    ("write", "sing", "song"),
)
_LO = ("lo", "la", "los", "las")


def pronoun_of_thing(draw: Draw) -> PhrasePair:
    """Luis buys the apples and eats them."""
    first, second, tags = draw.choose(_TWICE)
    noun = draw.choose(nouns(tags))
    is_plural = not noun.is_mass and draw.happens(0.4)
    thing = build(noun, "the", draw_adjective(draw, noun, 0.4), is_plural)
    tense = draw.choose(("present", "past"))
    subject = draw_subject(draw)
    is_animal = noun.fits("animal") and first == "look for"
    spanish = to(thing.spanish) if is_animal else thing.spanish
    start = Clause(subject, Action(BY_NAME[first], f" {thing.english}", f" {spanish}", thing.pairs), tense)
    clitic = _LO[2 * is_plural + (noun.gender == "f")] + " "
    silent = Phrase("", "", subject.person)
    end = Clause(silent, Action(BY_NAME[second], " them" if is_plural else " it", clitic=clitic), tense)
    pairs = (*start.pairs, pair(first, noun.english), pair(second, noun.english), *subject.joined(second))
    return state(f"{start.english()} and {end.english().strip()}", f"{start.spanish()} y {end.spanish()}", pairs)


def gift(draw: Draw) -> PhrasePair:
    """She gives me the key. I gave the book to Ana."""
    is_asked = draw.happens(0.2)
    subject = draw_addressee(draw) if is_asked else draw_subject(draw)
    tense = draw.choose(("present", "past", "future"))
    clause = Clause(subject, giving(draw, subject), tense, not is_asked and draw.happens(0.2), draw.happens(0.5))
    if is_asked:
        return ask(clause.english_question(), clause.spanish(), clause.pairs)
    return state(clause.english(), clause.spanish(), clause.pairs)


def draw_teller(draw: Draw) -> tuple[Phrase, Verb]:
    """Draw who says, knows or thinks something."""
    teller = draw_subject(draw, 0.5)
    return teller, draw.choose((KNOW_THAT, THINK) if teller.person in (ME, YOU, WE) else (SAY, SAY, KNOW_THAT, THINK))


def reported_speech(draw: Draw) -> PhrasePair:
    """My mother says that we have to study."""
    inner = draw_clause(draw, draw.choose(COMMON_TENSES), pronouns=0.8)
    teller, verb = draw_teller(draw)
    if teller.person in (ME, WE) and inner.subject.person == ME:
        teller = PRONOUNS[3]
    outer = Clause(teller, Action(verb), "present")
    pairs = (*outer.pairs, *inner.pairs)
    return state(f"{outer.english()} that {inner.english()}", f"{outer.spanish()} que {inner.spanish()}", pairs)


def two_clauses(draw: Draw) -> PhrasePair:
    """My sister drinks milk, but she doesn't drink coffee."""
    tense = draw.choose(("present", "past", "progressive"))
    first = draw_clause(draw, tense, denied=0.0)
    verb = first.action.verb
    other = taking(draw, verb, is_denied=True) if verb in TAKING else draw_action(draw, tense, is_denied=True)
    if other.noun and other.noun == first.action.noun:
        return state(first.english(), first.spanish(), first.pairs)  # not "I see Ana, but I don't see Ana"
    second = Clause(pronoun_for(first.subject), other, tense, is_denied=True, is_short=draw.happens(0.5))
    return state(
        f"{first.english()}, but {second.english()}",
        f"{first.spanish()}, pero {second.spanish()}",
        (*first.pairs, *second.pairs),
    )

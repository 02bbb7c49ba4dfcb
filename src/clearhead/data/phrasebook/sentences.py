"""Sentences in which somebody does something: stated, denied, asked, ordered, wished and told on.

Each function draws one sentence; `patterns.py` says how often each is asked.
"""

from dataclasses import dataclass

from clearhead.data.phrasebook.clauses import (
    TENSES,
    Action,
    Clause,
    draw_action,
    draw_clause,
    giving,
    is_same,
    taking,
    wanting,
)
from clearhead.data.phrasebook.idioms import ACTIONS, CLAUSES, RARELY
from clearhead.data.phrasebook.phrases import (
    OBJECT_PRONOUNS,
    Draw,
    Phrase,
    build,
    fitting,
    name,
    pair,
    somebody,
)
from clearhead.data.phrasebook.verbs import BY_NAME, GO, KNOW_THAT, SAY, TAKING, THINK, Verb
from clearhead.data.phrasebook.words import nouns


@dataclass(frozen=True, slots=True)
class Sentence:
    """One pair of the phrasebook, with the pairs of words that it joins."""

    english: str
    spanish: str
    pairs: tuple[str, ...] = ()


def capital(text: str) -> str:
    """Begin with a capital letter."""
    return text[:1].upper() + text[1:]


def state(english: str, spanish: str, pairs: tuple[str, ...] = ()) -> Sentence:
    """End with a full stop."""
    return Sentence(f"{capital(english)}.", f"{capital(spanish)}.", pairs)


def ask(english: str, spanish: str, pairs: tuple[str, ...] = ()) -> Sentence:
    """Put question marks."""
    return Sentence(f"{capital(english)}?", f"¿{capital(spanish)}?", pairs)


def exclaim(english: str, spanish: str, pairs: tuple[str, ...] = ()) -> Sentence:
    """Put exclamation marks."""
    return Sentence(f"{capital(english)}!", f"¡{capital(spanish)}!", pairs)


_TENSES = ("present", "present", *TENSES)


def statement(draw: Draw) -> Sentence:
    """She buys the red shoes. I don't want any apples."""
    clause = draw_clause(draw, draw.choose(_TENSES))
    return state(clause.english(), clause.spanish(), clause.pairs)


def question(draw: Draw) -> Sentence:
    """Do you want the key? Did Ana eat the cake?"""
    clause = draw_clause(draw, draw.choose(_TENSES), denied=0.0)
    if clause.often[0]:
        clause = Clause(clause.subject, clause.action, clause.tense)
    return ask(clause.english_question(), clause.spanish(), clause.pairs)


_WHEN = ("present", "past", "future")


def question_of_circumstance(draw: Draw) -> Sentence:
    """Where does he buy the bread? Why are they closing the shop?"""
    word, palabra = draw.choose((("where", "dónde"), ("when", "cuándo"), ("why", "por qué")))
    drawn = draw_clause(draw, draw.choose(_TENSES if word == "why" else _WHEN), denied=0.0)
    verb = drawn.action.verb
    if (word == "where" and (drawn.action.has_place or verb.base == "have")) or (
        word == "when" and drawn.action.has_time
    ):
        word, palabra = "why", "por qué"
    if word == "when" and "progressive" not in verb.tenses:
        word, palabra = "why", "por qué"
    clause = Clause(drawn.subject, drawn.action, drawn.tense)
    return ask(clause.english_question(word), clause.spanish_question(palabra), clause.pairs)


_WHAT = tuple(verb for verb in TAKING if verb.takes_bare or verb.base in ("look for", "see", "find", "lose", "wash"))
_WHOM = tuple(BY_NAME[verb] for verb in ("see", "look for", "visit", "help", "wait for", "call", "know", "listen to"))


def question_of_object(draw: Draw) -> Sentence:
    """What are you eating? Who did Luis help? How many eggs does she need?"""
    kind = draw.choose(("what", "whom", "how many"))
    verb = draw.choose(_WHOM if kind == "whom" else _WHAT)
    tense = draw.choose([tense for tense in TENSES if tense in verb.tenses])
    clause = Clause(somebody(draw, 0.4), Action(verb), tense)
    if kind == "whom":
        return ask(clause.english_question("who"), clause.spanish_question("a quién"), clause.pairs)
    counted = [noun for noun in nouns(verb.objects) if not noun.is_mass]
    if kind == "what" or not counted or not verb.takes_bare:
        return ask(clause.english_question("what"), clause.spanish_question("qué"), clause.pairs)
    noun = draw.choose(counted)
    many, cuantos = (
        f"how many {noun.english_plural}",
        f"{'cuántas' if noun.gender == 'f' else 'cuántos'} {noun.spanish_plural}",
    )
    pairs = (*clause.pairs, pair(verb.base, noun.english))
    return ask(clause.english_question(many), clause.spanish_question(cuantos), pairs)


_WHO = Phrase("who", "quién")


def question_of_subject(draw: Draw) -> Sentence:
    """Who wants the cake? Who is singing in the park?"""
    tense = draw.choose(TENSES)
    clause = Clause(_WHO, draw_action(draw, tense), tense)
    return ask(clause.english(), clause.spanish(), clause.pairs)


def where_to(draw: Draw) -> Sentence:
    """Where is your brother going?"""
    subject = somebody(draw, 0.2)
    clause = Clause(subject, Action(GO), "progressive")
    return ask(clause.english_question("where"), clause.spanish_question("adónde"), clause.pairs)


def wish(draw: Draw) -> Sentence:
    """I want to buy a car. Do we have to wait for the bus?"""
    subject, is_asked = somebody(draw), draw.happens(0.3)
    is_denied = not is_asked and draw.happens(0.3)
    inner = draw_action(draw, "future", is_denied)
    clause = Clause(subject, wanting(draw, inner, subject.person), "present", is_denied, draw.happens(0.5))
    if is_asked:
        return ask(clause.english_question(), clause.spanish(), clause.pairs)
    return state(clause.english(), clause.spanish(), clause.pairs)


def order(draw: Draw) -> Sentence:
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


def let_us(draw: Draw) -> Sentence:
    """Let's go to the beach. Let's eat the cake!"""
    action = draw_action(draw, "future")
    if action.verb is GO:
        english, spanish = f"let's go{action.english}", f"vamos{action.spanish}"
    else:
        english = f"let's {action.verb.base}{action.english}"
        spanish = f"vamos a {action.verb.attached(3)}{action.spanish}"
    if not action.has_time and draw.happens(0.25):
        when, cuando = draw.choose(
            (("now", "ahora"), ("tomorrow", "mañana"), ("today", "hoy"), ("on Sunday", "el domingo"))
        )
        english, spanish = f"{english} {when}", f"{spanish} {cuando}"
    return (exclaim if draw.happens(0.4) else state)(english, spanish, action.pairs)


_CALLED = tuple(BY_NAME[verb] for verb in ("see", "look for", "visit", "help", "wait for", "call", "know", "listen to"))


def object_pronoun(draw: Draw) -> Sentence:
    """She sees me. They aren't waiting for us."""
    subject = somebody(draw)
    verb = draw.choose(_CALLED)
    whom = draw.choose([word for word in OBJECT_PRONOUNS if not is_same(subject, word)])
    tense = draw.choose([tense for tense in TENSES if tense in verb.tenses])
    action = Action(verb, f" {whom}", clitic=OBJECT_PRONOUNS[whom] + " ")
    is_asked = draw.happens(0.2)
    clause = Clause(subject, action, tense, not is_asked and draw.happens(0.3), draw.happens(0.5))
    if is_asked:
        return ask(clause.english_question(), clause.spanish(), clause.pairs)
    return state(clause.english(), clause.spanish(), clause.pairs)


_TWICE = (
    ("look for", "find", "thing clothes dog cat"),
    ("buy", "eat", "food"),
    ("make", "drink", "coffee tea"),
    ("buy", "sell", "vehicle house clock table"),
    ("find", "open", "box bag"),
    ("buy", "read", "book newspaper"),
    ("write", "sing", "song"),
)
_LO = ("lo", "la", "los", "las")


def pronoun_of_thing(draw: Draw) -> Sentence:
    """Luis buys the apples and eats them."""
    first, second, tags = draw.choose(_TWICE)
    noun = draw.choose(nouns(tags))
    is_plural = not noun.is_mass and draw.happens(0.4)
    thing = build(noun, "the", fitting(draw, noun, 0.4), is_plural)
    tense = draw.choose(("present", "past"))
    subject = somebody(draw)
    is_animal = noun.fits("animal") and first == "look for"
    spanish = (
        ("al " + thing.spanish[3:] if thing.spanish.startswith("el ") else "a " + thing.spanish)
        if is_animal
        else thing.spanish
    )
    start = Clause(subject, Action(BY_NAME[first], f" {thing.english}", f" {spanish}", thing.pairs), tense)
    clitic = _LO[2 * is_plural + (noun.gender == "f")] + " "
    silent = Phrase("", "", subject.person)
    end = Clause(silent, Action(BY_NAME[second], " them" if is_plural else " it", clitic=clitic), tense)
    pairs = (*start.pairs, pair(first, noun.english), pair(second, noun.english))
    return state(f"{start.english()} and {end.english().strip()}", f"{start.spanish()} y {end.spanish()}", pairs)


def gift(draw: Draw) -> Sentence:
    """She gives me the key. I gave the book to Ana."""
    subject = somebody(draw)
    tense = draw.choose(("present", "past", "future"))
    is_asked = draw.happens(0.2)
    clause = Clause(subject, giving(draw, subject), tense, not is_asked and draw.happens(0.2), draw.happens(0.5))
    if is_asked:
        return ask(clause.english_question(), clause.spanish(), clause.pairs)
    return state(clause.english(), clause.spanish(), clause.pairs)


_TELLING: tuple[Verb, ...] = (SAY, SAY, KNOW_THAT, THINK)


def told(draw: Draw) -> Sentence:
    """My mother says that we have to study."""
    inner = draw_clause(draw, draw.choose(TENSES), pronouns=0.8)
    teller, verb = somebody(draw, 0.7), draw.choose(_TELLING)
    outer = Clause(teller, Action(verb), "present")
    pairs = (*outer.pairs, *inner.pairs)
    return state(f"{outer.english()} that {inner.english()}", f"{outer.spanish()} que {inner.spanish()}", pairs)


def two_clauses(draw: Draw) -> Sentence:
    """I eat fish and you drink water. He works, but Ana is sleeping."""
    tense = draw.choose(("present", "past", "progressive"))
    first, second = draw_clause(draw, tense, pronouns=0.7), draw_clause(draw, tense, pronouns=0.7)
    english, spanish = draw.choose(((", but ", ", pero "), (" because ", " porque ")))
    return state(
        first.english() + english + second.english(),
        first.spanish() + spanish + second.spanish(),
        (*first.pairs, *second.pairs),
    )


# Idioms inside other sentences


def idiom_told(draw: Draw) -> Sentence:
    """She says that it's a piece of cake."""
    idiom = draw.choose(tuple(CLAUSES))
    teller, verb = somebody(draw, 0.4), draw.choose(_TELLING)
    outer = Clause(
        teller,
        Action(verb),
        "present",
        often=draw.choose((("always", "siempre"), ("", ""))) if verb is SAY else ("", ""),
    )
    pairs = (*outer.pairs, pair(teller.noun, idiom)) if teller.noun else outer.pairs
    return state(f"{outer.english()} that {idiom}", f"{outer.spanish()} que {CLAUSES[idiom]}", pairs)


def idiom_alone(draw: Draw) -> Sentence:
    """It's raining cats and dogs, Luis. Is it true that it's not worth it?"""
    idiom = draw.choose(tuple(CLAUSES))
    expression = CLAUSES[idiom]
    kind = draw.choose(("called", "true", "yes", "exclaimed", "because"))
    if kind == "called":
        called = name(draw)
        return state(f"{idiom}, {called.english}", f"{expression}, {called.spanish}", (pair(called.noun, idiom),))
    if kind == "true":
        return ask(f"is it true that {idiom}", f"es verdad que {expression}")
    if kind == "yes":
        return state(f"yes, {idiom}", f"sí, {expression}")
    if kind == "exclaimed":
        return exclaim(idiom, expression)
    clause = draw_clause(draw, "present", denied=0.5, pronouns=0.6)
    return state(f"{clause.english()} because {idiom}", f"{clause.spanish()} porque {expression}", clause.pairs)


def idiom_done(draw: Draw) -> Sentence:
    """My brother sleeps like a log. We eat fish once in a blue moon."""
    subject, is_denied = somebody(draw), draw.happens(0.2)
    is_asked = not is_denied and draw.happens(0.25)
    if draw.happens(0.3):
        action = draw_action(draw, "progressive")
        clause = Clause(subject, action, "present", time=RARELY)
        return state(clause.english(), clause.spanish(), clause.pairs)
    action = draw.choose(ACTIONS)
    tense = draw.choose([tense for tense in TENSES if tense in action.verb.tenses])
    clause = Clause(subject, action, tense, is_denied, draw.happens(0.5))
    if is_asked:
        return ask(clause.english_question(), clause.spanish(), clause.pairs)
    return state(clause.english(), clause.spanish(), clause.pairs)


def vocative(draw: Draw) -> Sentence:
    """Let's go, Ana! Good morning, Luis!"""
    called = name(draw)
    english, spanish = draw.choose(
        (("let's go", "vamos"), ("good morning", "buenos días"), ("good night", "buenas noches"),
         ("thank you very much", "muchas gracias"), ("see you tomorrow", "hasta mañana"), ("come here", "ven aquí"))
    )  # fmt: skip
    finish = draw.choose((exclaim, state))
    return finish(f"{english}, {called.english}", f"{spanish}, {called.spanish}")

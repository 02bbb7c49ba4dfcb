"""Actions: verbs with their objects, places, hours and languages, in English and Spanish."""

from dataclasses import dataclass

from clearhead.data.phrasebook.phrases import (
    Draw,
    Phrase,
    build,
    definite,
    draw_adjective,
    draw_name,
    draw_object,
    pair,
    to,
)
from clearhead.data.phrasebook.verbs import (
    ARRIVE,
    BY_NAME,
    COME,
    DOING,
    GIVE,
    GO,
    HAVE_TO,
    LIVE,
    PLAY,
    REFLEXIVE,
    SPEAK,
    STUDY,
    TAKING,
    Verb,
)
from clearhead.data.phrasebook.words import LANGUAGES, NUMBERS, Noun, nouns

TENSES = ("present", "past", "progressive", "future", "can")

_OBJECTS: dict[str, tuple[Noun, ...]] = {verb.base: nouns(verb.objects) for verb in TAKING}
_TAKING = {tense: tuple(verb for verb in TAKING if tense in verb.tenses) for tense in (*TENSES, "order")}
_REFLEXIVE = {tense: tuple(verb for verb in REFLEXIVE if tense in verb.tenses) for tense in (*TENSES, "order")}
_DOING = {tense: tuple(verb for verb in DOING if tense in verb.tenses) for tense in (*TENSES, "order")}
_NOT_PERSONAL = frozenset({"buy", "sell", "want", "have"})
_PLACES = nouns("place")
_HOURS = tuple(NUMBERS)[4:11]  # six to twelve


@dataclass(frozen=True, slots=True)
class Action:
    """A verb with what follows it; the tails begin with a space or are empty."""

    verb: Verb
    english: str = ""
    spanish: str = ""
    pairs: tuple[str, ...] = ()
    has_place: bool = False
    has_time: bool = False
    clitic: str = ""  # an object pronoun before the Spanish verb
    idiom: str = ""
    noun: str = ""  # of the object
    is_bare: bool = False  # the object can lack a determiner

    @property
    def word(self) -> str:
        """The action's name in pairs."""
        return self.idiom or self.verb.base


def draw_action(draw: Draw, tense: str, is_denied: bool = False) -> Action:
    """Draw an action that can be used in this tense."""
    if draw.happens(0.68):
        return taking(draw, draw.choose(_TAKING[tense]), is_denied)
    if tense == "present" and draw.happens(0.15):
        return living(draw)
    if tense in ("present", "past", "future", "can") and draw.happens(0.25):
        return reflexive(draw, draw.choose(_REFLEXIVE[tense]))
    if draw.happens(0.35):
        return moving(draw, tense)
    if draw.happens(0.2):
        return draw.choose(_GAMES)
    if draw.happens(0.25):
        return speaking(draw)
    return doing(draw, tense)


def taking(draw: Draw, verb: Verb, is_denied: bool = False) -> Action:
    """Draw what is eaten, bought or seen."""
    noun, is_bare = draw.choose(_OBJECTS[verb.base]), verb.takes_bare
    thing = (
        draw_name(draw)
        if noun.fits("person family") and draw.happens(0.25)
        else draw_object(draw, noun, verb, is_denied)
    )
    spanish = to(thing.spanish) if thing.is_personal and verb.base not in _NOT_PERSONAL else thing.spanish
    pairs = (*thing.pairs, pair(verb.base, thing.noun))
    return Action(verb, f" {thing.english}", f" {spanish}", pairs, noun=thing.noun, is_bare=is_bare)


def doing(draw: Draw, tense: str) -> Action:
    """Draw an action without an object: she works, he sleeps in the garden."""
    verb = draw.choose(_DOING[tense])
    if draw.happens(0.3):
        return Action(verb)
    place = draw.choose(_PLACES)
    english, spanish = there(place)
    return Action(verb, f" {english}", f" {spanish}", (pair(verb.base, place.english),), has_place=True)


_PLEASANT = ("eat", "drink", "read", "write", "buy", "make", "sing")
_HABITS = tuple((BY_NAME[verb], noun) for verb in _PLEASANT for noun in _OBJECTS[verb])


def habit(draw: Draw) -> Action:
    """Draw what people like to do: dance, play tennis, read interesting books."""
    kind = draw.choose(("do", "do", "game", "language", "take", "take", "take"))
    if kind == "do":
        return doing(draw, "progressive")
    if kind == "game":
        return draw.choose(_GAMES)
    if kind == "language":
        return speaking(draw)
    verb, noun = draw.choose(_HABITS)
    adjective = draw_adjective(draw, noun, 0.4)
    thing = build(noun, "", adjective, is_plural=not noun.is_mass)
    return Action(verb, f" {thing.english}", f" {thing.spanish}", (*thing.pairs, pair(verb.base, noun.english)))


def there(place: Noun) -> tuple[str, str]:
    """Say where: in the park, at the station, on the beach."""
    preposition = next(word for word in ("in", "at", "on") if word in place.tags)
    phrase = build(place, "the")
    return f"{preposition} {phrase.english}", f"en {phrase.spanish}"


def moving(draw: Draw, tense: str) -> Action:
    """Draw going, coming or arriving somewhere."""
    place = draw.choose(_PLACES)
    phrase = build(place, "the") if draw.happens(0.8) or place.fits("garden kitchen") else definite(draw, place, 0.0)
    verb, preposition = draw.choose(((GO, "to"), (GO, "to"), (COME, "to"), (ARRIVE, "at")))
    if tense not in verb.tenses or (verb is ARRIVE and place.fits("city garden kitchen park")):
        verb, preposition = GO, "to"
    english, spanish = f" {preposition} {phrase.english}", f" {to(phrase.spanish)}"
    return Action(verb, english, spanish, (*phrase.pairs, pair(verb.base, place.english)), has_place=True)


def living(draw: Draw) -> Action:
    """Draw where someone lives."""
    place = draw.choose(nouns("house city hotel"))
    phrase = build(place, draw.choose(("a", "this", "that")), draw_adjective(draw, place, 0.8))
    spanish = f" en {phrase.spanish}"
    return Action(LIVE, f" in {phrase.english}", spanish, (*phrase.pairs, pair("live", place.english)), has_place=True)


_GAMES = (
    Action(PLAY, " football", " al fútbol", is_bare=True),
    Action(PLAY, " tennis", " al tenis", is_bare=True),
    Action(PLAY, " in the park", " en el parque", has_place=True),
    Action(PLAY, " in the garden", " en el jardín", has_place=True),
)


def speaking(draw: Draw) -> Action:
    """Draw a language that is spoken or studied."""
    language = draw.choose(tuple(LANGUAGES))
    verb = draw.choose((SPEAK, STUDY))
    return Action(verb, f" {language}", f" {LANGUAGES[language]}", (pair(verb.base, language),), is_bare=True)


def reflexive(draw: Draw, verb: Verb) -> Action:
    """Draw what one does to oneself, often with the hour."""
    if draw.happens(0.4):
        return Action(verb)
    hour = draw.choose(_HOURS)
    english, spanish = f" at {hour} o'clock", f" a las {NUMBERS[hour]}"
    return Action(verb, english, spanish, (pair(verb.base, hour),), has_time=True)


_GIFTS = nouns("reading thing apple cake coffee water chair")
_RECEIVERS = nouns("person family")
_INDIRECT = {"me": "me", "you": "te", "him": "le", "her": "le", "us": "nos", "them": "les"}


def giving(draw: Draw, subject: Phrase) -> Action:
    """Draw what is given to whom: I give him the key, le doy la llave."""
    noun = draw.choose(_GIFTS)
    gift = build(noun, "the" if noun.is_mass else draw.choose(("the", "a", "this", "my")), None)
    pairs = (*gift.pairs, pair("give", noun.english))
    if draw.happens(0.6):
        others = [word for word in _INDIRECT if not is_same(subject, word)]
        whom = draw.choose(others)
        return Action(GIVE, f" {whom} {gift.english}", f" {gift.spanish}", pairs, clitic=_INDIRECT[whom] + " ")
    receiver = draw_name(draw) if draw.happens(0.4) else definite(draw, draw.choose(_RECEIVERS), 0.0)
    if receiver.noun in subject.noun.split("&"):
        receiver = build(_RECEIVERS[0], "that")
    clitic = "les " if receiver.is_plural else "le "
    english, spanish = f" {gift.english} to {receiver.english}", f" {gift.spanish} {to(receiver.spanish)}"
    return Action(GIVE, english, spanish, (*pairs, pair("give", receiver.noun)), clitic=clitic)


def is_same(subject: Phrase, pronoun: str) -> bool:
    """Return whether an object pronoun would mean the subject itself, or be half of it: I ... us."""
    persons = {"me": (0, 3), "us": (0, 3), "you": (1,)}
    return subject.person in persons.get(pronoun, ())


def wanting(draw: Draw, action: Action, subject: Phrase) -> Action:
    """Put an action after another verb: want to, need to, have to."""
    verb, joint = draw.choose(((BY_NAME["want"], ""), (BY_NAME["need"], ""), (HAVE_TO, "que ")))
    english = f" {action.verb.base}{action.english}"
    if verb is not HAVE_TO:
        english = " to" + english
    spanish = f" {joint}{action.verb.attached(subject.person)}{action.spanish}"
    pairs = (*action.pairs, pair(verb.base, action.word), *subject.joined(action.word))
    return Action(verb, english, spanish, pairs, action.has_place, action.has_time)

"""Who does what: actions, and the clauses that a subject, an action and a tense make in both languages.

English needs do, does and did to deny and to ask; Spanish says no, and drops the pronoun.
"""

from dataclasses import dataclass

from clearhead.data.phrasebook.phrases import Draw, Phrase, build, definite, fitting, name, pair, patient, somebody, to
from clearhead.data.phrasebook.verbs import (
    ARRIVE,
    BY_NAME,
    CAN,
    COME,
    DOING,
    ESTAR,
    GIVE,
    GO,
    HAVE_TO,
    LIVE,
    PLAY,
    REFLEXIVE,
    SPEAK,
    STUDY,
    TAKING,
    THIRD,
    Verb,
)
from clearhead.data.phrasebook.words import DAYS, LANGUAGES, NUMBERS, Noun, nouns

TENSES = ("present", "past", "progressive", "future", "can")
_BE = ("am", "are", "is", "are", "are")
SHORT_NOT = {
    "do not": "don't", "does not": "doesn't", "did not": "didn't", "is not": "isn't", "are not": "aren't",
    "cannot": "can't",
}  # fmt: skip
SHORT_BE = {"I am": "I'm", "you are": "you're", "he is": "he's", "she is": "she's", "we are": "we're",
            "they are": "they're", "it is": "it's"}  # fmt: skip

_OBJECTS: dict[str, tuple[Noun, ...]] = {verb.base: nouns(verb.objects) for verb in TAKING}
_TAKING = {tense: tuple(verb for verb in TAKING if tense in verb.tenses) for tense in (*TENSES, "order")}
_REFLEXIVE = {tense: tuple(verb for verb in REFLEXIVE if tense in verb.tenses) for tense in (*TENSES, "order")}
_DOING = {tense: tuple(verb for verb in DOING if tense in verb.tenses) for tense in (*TENSES, "order")}
_NOT_PERSONAL = frozenset({"buy", "sell", "want", "have"})
_PLACES = nouns("place")
_HOURS = tuple(NUMBERS)[4:11]  # six to twelve
TIMES: dict[str, tuple[tuple[str, str], ...]] = {
    "present": (
        ("every day", "todos los días"), ("in the morning", "por la mañana"), ("in the afternoon", "por la tarde"),
        ("at night", "por la noche"),
        *((f"on {day}s", f"los {dia}s" if dia.endswith("o") else f"los {dia}") for day, dia in DAYS.items()),
    ),
    "past": (
        ("yesterday", "ayer"), ("last week", "la semana pasada"), ("last night", "anoche"),
        *((f"on {day}", f"el {dia}") for day, dia in DAYS.items()),
    ),
    "progressive": (("now", "ahora"),),
    "future": (
        ("tomorrow", "mañana"), ("next week", "la semana que viene"), ("tonight", "esta noche"),
        *((f"on {day}", f"el {dia}") for day, dia in DAYS.items()),
    ),
    "can": (("now", "ahora"), ("tomorrow", "mañana")),
}  # fmt: skip


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

    @property
    def word(self) -> str:
        """The action's name in pairs."""
        return self.idiom or self.verb.base


def draw_action(draw: Draw, tense: str, is_denied: bool = False) -> Action:
    """Draw an action that this tense suits."""
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
    noun = draw.choose(_OBJECTS[verb.base])
    if noun.fits("person family") and draw.happens(0.25):
        thing = name(draw)
    else:
        thing = patient(draw, noun, verb.takes_bare, is_denied)
    spanish = to(thing.spanish) if thing.is_personal and verb.base not in _NOT_PERSONAL else thing.spanish
    return Action(verb, f" {thing.english}", f" {spanish}", (*thing.pairs, pair(verb.base, thing.noun)))


def doing(draw: Draw, tense: str) -> Action:
    """Draw an action without an object: she works, he sleeps in the garden."""
    verb = draw.choose(_DOING[tense])
    if draw.happens(0.3):
        return Action(verb)
    place = draw.choose(_PLACES)
    english, spanish = there(place)
    return Action(verb, f" {english}", f" {spanish}", (pair(verb.base, place.english),), has_place=True)


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
    if tense not in verb.tenses:
        verb, preposition = GO, "to"
    english, spanish = f" {preposition} {phrase.english}", f" {to(phrase.spanish)}"
    return Action(verb, english, spanish, (*phrase.pairs, pair(verb.base, place.english)), has_place=True)


def living(draw: Draw) -> Action:
    """Draw where someone lives."""
    place = draw.choose(nouns("house city hotel"))
    phrase = build(place, draw.choose(("a", "this", "that")), fitting(draw, place, 0.8))
    spanish = f" en {phrase.spanish}"
    return Action(LIVE, f" in {phrase.english}", spanish, (*phrase.pairs, pair("live", place.english)), has_place=True)


_GAMES = (
    Action(PLAY, " football", " al fútbol"),
    Action(PLAY, " tennis", " al tenis"),
    Action(PLAY, " in the park", " en el parque", has_place=True),
    Action(PLAY, " in the garden", " en el jardín", has_place=True),
)


def speaking(draw: Draw) -> Action:
    """Draw a language that is spoken or studied."""
    language = draw.choose(tuple(LANGUAGES))
    verb = draw.choose((SPEAK, STUDY))
    return Action(verb, f" {language}", f" {LANGUAGES[language]}", (pair(verb.base, language),))


def reflexive(draw: Draw, verb: Verb) -> Action:
    """Draw what one does to oneself, often with the hour."""
    if draw.happens(0.4):
        return Action(verb)
    hour = draw.choose(_HOURS)
    english, spanish = f" at {hour} o'clock", f" a las {NUMBERS[hour]}"
    return Action(verb, english, spanish, (pair(verb.base, hour),), has_time=True)


_GIFTS = nouns("reading thing apple cake coffee water chair hat")
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
    receiver = name(draw) if draw.happens(0.4) else definite(draw, draw.choose(nouns("person family")), 0.0)
    clitic = "les " if receiver.is_plural else "le "
    english, spanish = f" {gift.english} to {receiver.english}", f" {gift.spanish} {to(receiver.spanish)}"
    return Action(GIVE, english, spanish, (*pairs, pair("give", receiver.noun)), clitic=clitic)


def is_same(subject: Phrase, pronoun: str) -> bool:
    """Return whether an object pronoun would mean the subject itself, or be half of it: I ... us."""
    persons = {"me": (0, 3), "us": (0, 3), "you": (1,)}
    return subject.person in persons.get(pronoun, ())


def wanting(draw: Draw, action: Action, person: int) -> Action:
    """Put an action after another verb: want to, need to, have to."""
    verb, joint = draw.choose(((BY_NAME["want"], ""), (BY_NAME["need"], ""), (HAVE_TO, "que ")))
    english = f" {action.verb.base}{action.english}"
    if verb is not HAVE_TO:
        english = " to" + english
    spanish = f" {joint}{action.verb.attached(person)}{action.spanish}"
    return Action(
        verb, english, spanish, (*action.pairs, pair(verb.base, action.word)), action.has_place, action.has_time
    )


# Clauses


@dataclass(frozen=True, slots=True)
class Clause:
    """A subject, an action and a tense, not yet a sentence; `time` holds when in both languages, or nothing."""

    subject: Phrase
    action: Action
    tense: str
    is_denied: bool = False
    is_short: bool = False  # don't for do not, I'm for I am
    time: tuple[str, str] = ("", "")
    often: tuple[str, str] = ("", "")  # always, never

    @property
    def pairs(self) -> tuple[str, ...]:
        """Every pair of words that the clause joins."""
        joined = (*self.subject.pairs, *self.action.pairs)
        return (*joined, pair(self.subject.noun, self.action.word)) if self.subject.noun else joined

    def english(self) -> str:
        """Return the clause as a statement."""
        helper, main = self._helper_and_main()
        if self.is_denied:
            denied = "cannot" if helper == "can" else f"{helper} not"
            if self.is_short:
                denied = SHORT_NOT.get(denied, denied)
            begin = f"{self.subject.english} {denied}"
            begin = SHORT_BE["I am"] + " not" if self.is_short and begin == "I am not" else begin
        elif helper in ("do", "does", "did"):
            verb = self.action.verb
            main = verb.past if helper == "did" else verb.third if helper == "does" else verb.base
            begin = spaced(self.subject.english, self.often[0])
        else:
            begin = f"{self.subject.english} {helper}"
            begin = SHORT_BE.get(begin, begin) if self.is_short else begin
        return spaced(f"{begin} {main}{self.action.english}", self.time[0])

    def english_question(self, word: str = "") -> str:
        """Return the clause as a question, after a question word if one is given."""
        helper, main = self._helper_and_main()
        asked = f"{helper} {self.subject.english} {main}{self.action.english}"
        return spaced(word, asked, self.time[0])

    def spanish(self) -> str:
        """Return the clause as a statement; a yes-no question reads the same between its marks."""
        denied = "no" if self.is_denied else ""
        return spaced(
            self.subject.spanish, self.often[1], denied, self._spanish_verb() + self.action.spanish, self.time[1]
        )

    def spanish_question(self, word: str) -> str:
        """Return the clause after a question word, with the subject behind the verb."""
        denied = "no" if self.is_denied else ""
        tail = self.action.spanish.strip()
        return spaced(word, denied, self._spanish_verb(), self.subject.spanish, tail, self.time[1])

    def _helper_and_main(self) -> tuple[str, str]:
        verb, person = self.action.verb, self.subject.person
        match self.tense:
            case "present":
                return ("does" if person == THIRD else "do"), verb.base
            case "past":
                return "did", verb.base
            case "progressive":
                return _BE[person], verb.ing
            case "future":
                return _BE[person], f"going to {verb.base}"
            case _:
                return "can", verb.base

    def _spanish_verb(self) -> str:
        verb, person = self.action.verb, self.subject.person
        before = self.action.clitic or verb.clitic(person)
        match self.tense:
            case "past":
                return before + verb.preterite[person]
            case "progressive" if verb.gerund:
                return f"{before}{ESTAR[person]} {verb.gerund}"
            case "future" | "can":
                helper = GO.present[person] + " a" if self.tense == "future" else CAN[person]
                return f"{self.action.clitic}{helper} {verb.attached(person)}"
            case _:
                return before + verb.present[person]


def spaced(*parts: str) -> str:
    """Join what is not empty with spaces."""
    return " ".join(part for part in parts if part)


_OFTEN = (("always", "siempre"), ("never", "nunca"), ("sometimes", "a veces"))


def draw_clause(draw: Draw, tense: str, denied: float = 0.25, pronouns: float = 0.5) -> Clause:
    """Draw somebody who does something."""
    subject = somebody(draw, pronouns)
    is_denied = draw.happens(denied)
    action = draw_action(draw, tense, is_denied)
    time = often = ("", "")
    if tense == "present" and "progressive" in action.verb.tenses and not is_denied and draw.happens(0.2):
        often = draw.choose(_OFTEN)
    elif not action.has_time and (tense != "present" or "progressive" in action.verb.tenses) and draw.happens(0.25):
        time = draw.choose(TIMES[tense])
    return Clause(subject, action, tense, is_denied, draw.happens(0.5), time, often)

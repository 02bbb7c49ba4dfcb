"""Build clauses in both languages from a subject, an action and a tense.

English needs do, does and did in negations and questions; Spanish uses no, and drops the pronoun.
"""

from dataclasses import dataclass

from clearhead.data.phrasebook.actions import Action, draw_action, is_same
from clearhead.data.phrasebook.phrases import PRONOUNS, Draw, Phrase, draw_name, draw_subject
from clearhead.data.phrasebook.verbs import CAN, COME, DOING, ESTAR, GO, PLAY, SLEEP, SPEAK, THIRD
from clearhead.data.phrasebook.words import DAYS

_BE = ("am", "are", "is", "are", "are")
SHORT_NOT = {
    "do not": "don't", "does not": "doesn't", "did not": "didn't", "is not": "isn't", "are not": "aren't",
    "cannot": "can't",
}  # fmt: skip
SHORT_BE = {"I am": "I'm", "you are": "you're", "he is": "he's", "she is": "she's", "we are": "we're",
            "they are": "they're", "it is": "it's"}  # fmt: skip

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
class Clause:
    """A subject, an action and a tense, not yet a sentence; `time` is a time expression in both languages, or empty."""

    subject: Phrase
    action: Action
    tense: str
    is_denied: bool = False
    is_short: bool = False  # don't for do not, I'm for I am
    time: tuple[str, str] = ("", "")
    often: tuple[str, str] = ("", "")  # always, never

    @property
    def pairs(self) -> tuple[str, ...]:
        """The pairs of words that the clause combines."""
        return (*self.subject.pairs, *self.action.pairs, *self.subject.joined(self.action.word))

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
        question = f"{helper} {self.subject.english} {main}{self.action.english}"
        return spaced(word, question, self.time[0])

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
    """Join the non-empty parts with spaces."""
    return " ".join(part for part in parts if part)


_OFTEN = (("always", "siempre"), ("never", "nunca"), ("sometimes", "a veces"))


_WITH = {
    "me": "conmigo",
    "you": "contigo",
    "him": "con él",
    "her": "con ella",
    "us": "con nosotros",
    "them": "con ellos",
}


_SOCIABLE = (*(verb for verb in DOING if verb is not SLEEP), GO, COME, PLAY, SPEAK)


def company(draw: Draw, subject: Phrase) -> tuple[str, str]:
    """Draw with whom: with Ana, with me."""
    if draw.happens(0.5):
        other = draw_name(draw)
        if other.noun not in subject.noun.split("&"):
            return f"with {other.english}", f"con {other.spanish}"
    pronoun = draw.choose([pronoun for pronoun in _WITH if not is_same(subject, pronoun)])
    return f"with {pronoun}", _WITH[pronoun]


def draw_clause(draw: Draw, tense: str, denied: float = 0.25, pronouns: float = 0.5) -> Clause:
    """Draw somebody who does something."""
    subject = draw_subject(draw, pronouns)
    is_denied = draw.happens(denied)
    action = draw_action(draw, tense, is_denied)
    if action.noun and action.noun in subject.noun.split("&"):
        subject = PRONOUNS[-1]  # not "Ana is waiting for Ana"
    time = often = ("", "")
    if tense == "present" and "progressive" in action.verb.tenses and not is_denied and draw.happens(0.2):
        often = draw.choose(_OFTEN)
    elif action.verb in _SOCIABLE and not action.noun and draw.happens(0.25):
        time = company(draw, subject)
    elif not action.has_time and (tense != "present" or "progressive" in action.verb.tenses) and draw.happens(0.25):
        time = draw.choose(TIMES[tense])
    return Clause(subject, action, tense, is_denied, draw.happens(0.5), time, often)

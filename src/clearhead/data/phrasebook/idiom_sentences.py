"""Sentences that contain idioms and set phrases: reported, questioned, exclaimed, conjugated."""

from clearhead.data.phrasebook.actions import TENSES, Action, draw_action
from clearhead.data.phrasebook.clauses import Clause, draw_clause
from clearhead.data.phrasebook.idioms import ACTIONS, CLAUSES, RARELY, SAYINGS, SET_PHRASES
from clearhead.data.phrasebook.phrases import Draw, draw_name, draw_subject, pair
from clearhead.data.phrasebook.sentences import PhrasePair, ask, exclaim, state
from clearhead.data.phrasebook.statements import draw_teller
from clearhead.data.phrasebook.verbs import SAY, WE


def reported_idiom(draw: Draw) -> PhrasePair:
    """She says that it's a piece of cake."""
    idiom = draw.choose(tuple(CLAUSES))
    teller, verb = draw_teller(draw)
    outer = Clause(
        teller,
        Action(verb),
        "present",
        often=draw.choose((("always", "siempre"), ("", ""))) if verb is SAY else ("", ""),
    )
    pairs = (*outer.pairs, *teller.joined(idiom))
    return state(f"{outer.english()} that {idiom}", f"{outer.spanish()} que {CLAUSES[idiom]}", pairs)


def saying(draw: Draw) -> PhrasePair:
    """As my grandmother says, better late than never."""
    teller = draw_subject(draw, 0.0)
    if teller.person == WE:
        teller = draw_name(draw)
    english = draw.choose(tuple(SAYINGS))
    says = Clause(teller, Action(SAY), "present")
    return state(
        f"as {says.english()}, {english[0].lower()}{english[1:]}",
        f"{says.spanish_question('como')}, {SAYINGS[english][0].lower()}{SAYINGS[english][1:]}",
        (*says.pairs, *teller.joined(english)),
    )


def idiom_alone(draw: Draw) -> PhrasePair:
    """It's raining cats and dogs, Luis. Is it true that it's not worth it?"""
    idiom = draw.choose(tuple(CLAUSES))
    expression = CLAUSES[idiom]
    kind = draw.choose(("called", "true", "sure", "exclaimed", "because"))
    if kind == "called":
        called = draw_name(draw)
        return state(f"{idiom}, {called.english}", f"{expression}, {called.spanish}", (pair(called.noun, idiom),))
    if kind == "true":
        return ask(f"is it true that {idiom}", f"es verdad que {expression}")
    if kind == "sure":
        return state(f"of course {idiom}", f"por supuesto que {expression}")
    if kind == "exclaimed":
        return exclaim(idiom, expression)
    clause = draw_clause(draw, "present", denied=0.5, pronouns=0.6)
    return state(f"{clause.english()} because {idiom}", f"{clause.spanish()} porque {expression}", clause.pairs)


def conjugated_idiom(draw: Draw) -> PhrasePair:
    """My brother sleeps like a log. We eat fish once in a blue moon."""
    subject, is_denied = draw_subject(draw), draw.happens(0.2)
    is_asked = not is_denied and subject.english != "I" and draw.happens(0.25)
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


_LETS_GO = (("Let's go.", "Vamos."), ("Let's go!", "¡Vamos!"))
_CALLS = (*SET_PHRASES.items(), *((f"{idiom}.", f"{saying}.") for idiom, saying in SAYINGS.items()), *_LETS_GO * 3)


def vocative(draw: Draw) -> PhrasePair:
    """Let's go, Ana! Good morning, Luis!"""
    called = draw_name(draw)
    english, spanish = draw.choose(_CALLS)
    end, final = f", {called.english}{english[-1]}", f", {called.spanish}{spanish[-1]}"
    return PhrasePair(english[:-1] + end, spanish[:-1] + final)

"""Questions: yes or no, where, when, why, what, who and how many."""

from clearhead.data.phrasebook.actions import TENSES, Action, draw_action
from clearhead.data.phrasebook.clauses import Clause, draw_clause
from clearhead.data.phrasebook.phrases import PRONOUNS, Draw, Phrase, draw_subject, pair
from clearhead.data.phrasebook.sentences import PhrasePair, ask
from clearhead.data.phrasebook.statements import COMMON_TENSES, WHOM
from clearhead.data.phrasebook.verbs import GO, TAKING
from clearhead.data.phrasebook.words import nouns


def question(draw: Draw) -> PhrasePair:
    """Do you want the key? Did Ana eat the cake?"""
    tense = draw.choose(COMMON_TENSES)
    clause = draw_clause(draw, tense, denied=0.0)
    if clause.often[0] or (clause.subject.english == "I" and tense != "can"):
        clause = Clause(PRONOUNS[1], clause.action, clause.tense)  # who asks whether he himself is eating?
    return ask(clause.english_question(), clause.spanish(), clause.pairs)


_WHEN = ("present", "past", "future")
_WHY = (*_WHEN, "progressive")


def question_of_circumstance(draw: Draw) -> PhrasePair:
    """Where does he buy the bread? Why are they closing the shop?"""
    word, palabra = draw.choose((("where", "dónde"), ("when", "cuándo"), ("why", "por qué")))
    drawn = draw_clause(draw, draw.choose(_WHY if word == "why" else _WHEN), denied=0.0)
    verb = drawn.action.verb
    has_where = drawn.action.has_place or verb.is_reflexive or "order" not in verb.tenses or verb.base == "bring"
    has_when = drawn.action.has_time or "progressive" not in verb.tenses
    if (word == "where" and has_where) or (word == "when" and has_when):
        word, palabra = "why", "por qué"
    # A subject between the verb and a noun without an article would sound unnatural.
    is_you = drawn.subject.english == "I" or (drawn.subject.noun and drawn.action.is_bare)
    clause = Clause(PRONOUNS[1] if is_you else drawn.subject, drawn.action, drawn.tense)
    return ask(clause.english_question(word), clause.spanish_question(palabra), clause.pairs)


_WHAT = tuple(verb for verb in TAKING if verb.takes_bare or verb.base in ("look for", "see", "find", "lose", "wash"))


def question_of_object(draw: Draw) -> PhrasePair:
    """What are you eating? Who did Luis help? How many eggs does she need?"""
    kind = draw.choose(("what", "whom", "how many"))
    verb = draw.choose(WHOM if kind == "whom" else _WHAT)
    tense = draw.choose([tense for tense in _WHY if tense in verb.tenses])
    subject = draw_subject(draw, 0.4)
    clause = Clause(PRONOUNS[1] if subject.english == "I" else subject, Action(verb), tense)
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


def question_of_subject(draw: Draw) -> PhrasePair:
    """Who wants the cake? Who is singing in the park?"""
    tense = draw.choose(TENSES)
    clause = Clause(_WHO, draw_action(draw, tense), tense)
    return ask(clause.english(), clause.spanish(), clause.pairs)


def where_to(draw: Draw) -> PhrasePair:
    """Where is your brother going?"""
    subject = draw_subject(draw, 0.2)
    clause = Clause(subject, Action(GO), "progressive")
    return ask(clause.english_question("where"), clause.spanish_question("adónde"), clause.pairs)

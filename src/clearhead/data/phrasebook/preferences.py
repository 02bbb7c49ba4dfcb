"""Sentences in which Spanish turns the subject into an object: me gusta, me duele, me gustaría.

The thing that somebody likes, or that hurts, is the subject of the Spanish verb, and the verb agrees with it.
"""

from clearhead.data.phrasebook.actions import Action, draw_action, habit
from clearhead.data.phrasebook.phrases import (
    POSSESSIVES,
    Draw,
    Phrase,
    article,
    build,
    definite,
    draw_adjective,
    draw_name,
    draw_subject,
    pair,
    to,
)
from clearhead.data.phrasebook.sentences import PhrasePair, ask, state
from clearhead.data.phrasebook.verbs import THIRD
from clearhead.data.phrasebook.words import nouns

_WHOM = ("me", "te", "le", "nos", "les")
_LIKED = nouns("food drink clothes vehicle house park beach city museum garden reading art animal")
_DO = ("do", "do", "does", "do", "do")


def _liking(draw: Draw, subject: Phrase, liked: Phrase, verbs: tuple[str, str]) -> PhrasePair:
    """State or ask that somebody likes something; `verbs` contains gusta and gustan."""
    whom = f"{_to_whom(subject)}{{}}{_WHOM[subject.person]} {verbs[liked.is_plural]}"
    pairs = (
        *(*subject.pairs, *liked.pairs, pair("like", liked.noun)),
        *(*subject.joined("like"), *subject.joined(liked.noun)),
    )
    kind = draw.choose(("asked", "denied", "", ""))
    do = _DO[subject.person]
    if kind == "asked" and subject.english != "I":
        return ask(f"{do} {subject.english} like {liked.english}", f"{whom.format('')} {liked.spanish}", pairs)
    if kind == "denied":
        not_ = draw.choose((f"{do} not", f"{do}n't"))
        return state(f"{subject.english} {not_} like {liked.english}", f"{whom.format('no ')} {liked.spanish}", pairs)
    english = f"{subject.english} {'likes' if subject.person == THIRD else 'like'} {liked.english}"
    return state(english, f"{whom.format('')} {liked.spanish}", pairs)


def _to_whom(subject: Phrase) -> str:
    """Return the person with a, before each of two: a Ana y a Inés; a mi hermano y a mí."""
    if not subject.noun:
        return ""
    return to(subject.spanish).replace(" e I", " y I").replace(" y yo", " y mí").replace(" y ", " y a ") + " "


def like_thing(draw: Draw) -> PhrasePair:
    """I like the red houses. My mother doesn't like coffee."""
    subject, noun = draw_subject(draw), draw.choose(_LIKED)
    if draw.happens(0.5):
        return _liking(draw, subject, definite(draw, noun, 0.4, owners=0.2), ("gusta", "gustan"))
    is_plural = not noun.is_mass
    adjective = draw_adjective(draw, noun, 0.4)
    if adjective and adjective.copula == "estar" and not noun.fits("food drink"):
        adjective = None  # nobody likes dirty museums
    bare = build(noun, "", adjective, is_plural)
    liked = Phrase(
        bare.english, f"{article(noun, is_plural)} {bare.spanish}", bare.person, bare.gender, bare.noun, bare.pairs
    )
    return _liking(draw, subject, liked, ("gusta", "gustan"))


def like_to(draw: Draw) -> PhrasePair:
    """They like to dance. Do you like to read?"""
    subject = draw_subject(draw)
    action = habit(draw)
    return _liking(draw, subject, _done(action, subject.person), ("gusta", "gusta"))


def _done(action: Action, person: int) -> Phrase:
    english = f"to {action.verb.base}{action.english}"
    return Phrase(english, f"{action.verb.attached(person)}{action.spanish}", noun=action.word, pairs=action.pairs)


def would_like(draw: Draw) -> PhrasePair:
    """I would like to visit the museum."""
    subject = draw_subject(draw)
    done = _done(draw_action(draw, "future"), subject.person)
    pairs = (*subject.pairs, *done.pairs, *subject.joined("like"), *subject.joined(done.noun))
    whom = f"{_to_whom(subject)}{_WHOM[subject.person]} gustaría {done.spanish}"
    if subject.english != "I" and draw.happens(0.3):
        return ask(f"would {subject.english} like {done.english}", whom, pairs)
    return state(f"{subject.english} would like {done.english}", whom, pairs)


_BODY = {"head": "la cabeza", "hand": "la mano", "leg": "la pierna", "foot": "el pie"}
_BODIES = {"hands": "las manos", "legs": "las piernas", "eyes": "los ojos", "feet": "los pies"}
_OWN = {"my": "me", "your": "te", "his": "le", "her": "le"}


def hurting(draw: Draw) -> PhrasePair:
    """My head hurts. Do your feet hurt? Ana's leg hurts."""
    is_plural = draw.happens(0.5)
    parts = _BODIES if is_plural else _BODY
    part = draw.choose(tuple(parts))
    verb = "duelen" if is_plural else "duele"
    if draw.happens(0.5):
        owner = draw.choose(tuple(_OWN))
        english, spanish, pairs = f"{owner} {part}", f"{_OWN[owner]} {verb} {parts[part]}", (pair(owner, part),)
    else:
        person = _owner(draw)
        english = f"{person.english}'s {part}"
        spanish, pairs = f"{to(person.spanish)} le {verb} {parts[part]}", (pair(person.noun, part),)
    if not english.startswith("my ") and draw.happens(0.3):
        return ask(f"{'do' if is_plural else 'does'} {english} hurt", spanish, pairs)
    return state(f"{english} {'hurt' if is_plural else 'hurts'}", spanish, pairs)


def _owner(draw: Draw) -> Phrase:
    if draw.happens(0.4):
        return draw_name(draw)
    noun = draw.choose(nouns("family friend teacher boy girl"))
    return build(noun, draw.choose(POSSESSIVES) if noun.fits("family mine") else "the")

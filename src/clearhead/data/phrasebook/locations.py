"""Sentences that say where things are, and what there is in a place."""

from clearhead.data.phrasebook.actions import there
from clearhead.data.phrasebook.descriptions import BE, be, subject_pairs
from clearhead.data.phrasebook.phrases import Draw, Phrase, build, definite, draw_adjective, from_, pair
from clearhead.data.phrasebook.sentences import PhrasePair, ask, state
from clearhead.data.phrasebook.verbs import ESTAR
from clearhead.data.phrasebook.words import NUMBERS, Noun, nouns

_WHERE = (
    ("near", "cerca"), ("behind", "detrás"), ("next to", "al lado"), ("in front of", "delante"),
)  # fmt: skip
_BUILDINGS = nouns("building park garden")
_THERE = tuple(  # a thing, and a place where it can be
    (noun, place)
    for places, things in (
        ("kitchen house", "food drink served thing letter cat shirt"),
        ("school hotel house shop", "thing clothes letter"),
        ("park garden beach", "animal person bag key phone"),
        ("shop", "food clothes"),
        ("station hotel", "person bag map"),
    )
    for noun in nouns(things)
    for place in nouns(places)
)
_PUT = tuple(
    (noun, place) for noun in nouns("thing letter cat") for place in nouns("table chair box bag") if noun != place
)


def location(draw: Draw) -> PhrasePair:
    """The keys are on the table. Where is the station? The museum is near the park."""
    noun, where = somewhere(draw)
    subject = definite(draw, noun, 0.2, owners=0.2)
    verb = ESTAR[subject.person]
    if draw.happens(0.25):
        return ask(f"where {BE[subject.person]} {subject.english}", f"dónde {verb} {subject.spanish}", subject.pairs)
    english, spanish = where.english, where.spanish
    pairs = subject_pairs(subject, where.noun)
    if draw.happens(0.2):
        return ask(f"{BE[subject.person]} {subject.english} {english}", f"{verb} {subject.spanish} {spanish}", pairs)
    is_denied = draw.happens(0.2)
    return state(
        be(draw, subject, english, is_denied), f"{subject.spanish} {'no ' if is_denied else ''}{verb} {spanish}", pairs
    )


def somewhere(draw: Draw, buildings: float = 0.4) -> tuple[Noun, Phrase]:
    """Draw a thing, and where it is."""
    if draw.happens(buildings):
        noun = draw.choose(_BUILDINGS)
        other = draw.choose([other for other in _BUILDINGS if other is not noun])
        place = build(other, "the")
        english, spanish = draw.choose(_WHERE)
        return noun, Phrase(f"{english} {place.english}", f"{spanish} {from_(place.spanish)}", noun=place.noun)
    if draw.happens(0.6):
        noun, other = draw.choose(_THERE)
        return noun, Phrase(*there(other), noun=other.english)
    noun, other = draw.choose(_PUT)
    place = build(other, "the")
    if place.noun in ("box", "bag"):
        return noun, Phrase(f"in {place.english}", f"en {place.spanish}", noun=place.noun)
    english, spanish = draw.choose((("on", "en"), ("under", "debajo"), ("next to", "al lado")))
    behind = place.spanish if english == "on" else from_(place.spanish)
    return noun, Phrase(f"{english} {place.english}", f"{spanish} {behind}", noun=place.noun)


def there_is(draw: Draw) -> PhrasePair:
    """There are three cats in the garden. Is there a photo on the table?"""
    noun, place = somewhere(draw, buildings=0.0)
    adjective = draw_adjective(draw, noun, 0.3)
    kind = draw.choose(("is", "are", "no", "asked"))
    if noun.is_mass:
        thing = build(noun, "", adjective)
    elif kind == "is" or (kind == "asked" and draw.happens(0.5)):
        thing = build(noun, "a", adjective)
    elif kind in ("no", "asked"):
        thing = build(noun, "any" if kind == "asked" else "", adjective, is_plural=True)
    else:
        thing = build(noun, draw.choose(("many", *tuple(NUMBERS)[:9])), adjective, is_plural=True)
    verb = "are" if thing.is_plural else "is"
    pairs = (*thing.pairs, pair(noun.english, place.noun))
    if kind == "asked":
        return ask(f"{verb} there {thing.english} {place.english}", f"hay {thing.spanish} {place.spanish}", pairs)
    no, nada = ("no ", "no ") if kind == "no" else ("", "")
    return state(
        f"there {verb} {no}{thing.english} {place.english}", f"{nada}hay {thing.spanish} {place.spanish}", pairs
    )

"""Sentences about prices, hours, weather, names, owners and sums."""

from clearhead.data.phrasebook.descriptions import subject_pairs
from clearhead.data.phrasebook.phrases import Draw, Phrase, build, draw_adjective, draw_name, pair
from clearhead.data.phrasebook.sentences import PhrasePair, ask, state
from clearhead.data.phrasebook.words import NUMBERS, nouns

_COUNTS = tuple(NUMBERS)
_SOLD = nouns("apple cake cheese juice coffee bread fish book pencil map bag phone clothes vehicle table")


def price(draw: Draw) -> PhrasePair:
    """How much do the shoes cost? The map costs five euros."""
    noun = draw.choose(_SOLD)
    is_plural = not noun.is_mass and draw.happens(0.4)
    determiner = draw.choose(("the", "these", "those") if is_plural else ("the", "this", "that"))
    thing = build(noun, determiner, draw_adjective(draw, noun, 0.4), is_plural)
    if draw.happens(0.4):
        helper = "do" if is_plural else "does"
        pairs = subject_pairs(thing, "cost")
        verb = "cuestan" if is_plural else "cuesta"
        return ask(f"how much {helper} {thing.english} cost", f"cuánto {verb} {thing.spanish}", pairs)
    number = draw.choose(_COUNTS)
    english = f"{thing.english} {'cost' if is_plural else 'costs'} {number} euros"
    spanish = f"{thing.spanish} {'cuestan' if is_plural else 'cuesta'} {NUMBERS[number]} euros"
    return state(english, spanish, (*subject_pairs(thing, "cost"), pair(noun.english, number)))


_HOURS = {"one": "una", **{hour: NUMBERS[hour] for hour in _COUNTS[:11]}}
_MINUTES = {"five": "cinco", "ten": "diez", "a quarter": "cuarto", "twenty": "veinte"}


def _hour(draw: Draw) -> Phrase:
    """Draw a time of day: half past two, las dos y media."""
    hour = draw.choose(tuple(_HOURS))
    spanish = f"{'la' if hour == 'one' else 'las'} {_HOURS[hour]}"
    kind = draw.choose(("o'clock", "half", "past", "to"))
    if kind == "o'clock":
        return Phrase(f"{hour} o'clock", spanish, noun=hour)
    if kind == "half":
        return Phrase(f"half past {hour}", f"{spanish} y media", noun=hour, pairs=(pair("half", hour),))
    minutes = draw.choose(tuple(_MINUTES))
    sign = "y" if kind == "past" else "menos"
    pairs = (pair(f"{minutes} {kind}", hour),)
    return Phrase(f"{minutes} {kind} {hour}", f"{spanish} {sign} {_MINUTES[minutes]}", noun=hour, pairs=pairs)


def clock(draw: Draw) -> PhrasePair:
    """It is half past two. The train leaves at ten to nine."""
    time = _hour(draw)
    if draw.happens(0.35):
        it_is = draw.choose(("it is", "it's"))
        part, parte = ("", "")
        if time.noun in ("two", "three", "four", "five"):
            part, parte = draw.choose(
                (("", ""), (" in the afternoon", " de la tarde"), (" in the morning", " de la mañana"))
            )
        verb = "es" if time.noun == "one" else "son"
        return state(f"{it_is} {time.english}{part}", f"{verb} {time.spanish}{parte}", time.pairs)
    noun = draw.choose(nouns("train bus shop museum school"))
    if noun.fits("ride"):
        verb, verbo = draw.choose((("leaves", "sale"), ("arrives", "llega")))
    else:
        verb, verbo = draw.choose((("opens", "abre"), ("closes", "cierra")))
    thing = build(noun, draw.choose(("the", "the", "this")), None)
    pairs = (*time.pairs, pair(noun.english, verb), pair(noun.english, time.noun))
    if draw.happens(0.2):
        helper = f"what time does {thing.english} {verb.removesuffix('s')}"
        return ask(helper, f"a qué hora {verbo} {thing.spanish}", pairs[-2:-1])
    return state(f"{thing.english} {verb} at {time.english}", f"{thing.spanish} {verbo} a {time.spanish}", pairs)


_WEATHER = (
    ("cold", "hace frío"), ("very cold", "hace mucho frío"), ("hot", "hace calor"), ("very hot", "hace mucho calor"),
    ("sunny", "hace sol"), ("raining", "está lloviendo"),
)  # fmt: skip
_PLACES = {"": "", "here": "aquí", "in Spain": "en España", "in England": "en Inglaterra", "in Mexico": "en México",
           "in the city": "en la ciudad", "on the beach": "en la playa", "in the park": "en el parque"}  # fmt: skip
_WHEN = {"": "", "today": "hoy", "now": "ahora", "this morning": "esta mañana", "tonight": "esta noche"}


def weather(draw: Draw) -> PhrasePair:
    """It's very cold today. Is it raining in Spain?"""
    word, spanish = draw.choose(_WEATHER)
    place, when = draw.choose(tuple(_PLACES)), draw.choose(tuple(_WHEN))
    tail = "".join(f" {part}" for part in (place, when) if part)
    cola = "".join(f" {part}" for part in (_PLACES[place], _WHEN[when]) if part)
    pairs = (pair(word, place or when),) if tail else ()
    kind = draw.choose(("asked", "denied", "", ""))
    if kind == "asked":
        return ask(f"is it {word}{tail}", f"{spanish}{cola}", pairs)
    if kind == "denied":
        it_is = draw.choose(("it is not", "it isn't"))
        return state(f"{it_is} {word}{tail}", f"no {spanish}{cola}", pairs)
    it_is = draw.choose(("it is", "it's"))
    return state(f"{it_is} {word}{tail}", f"{spanish}{cola}", pairs)


_NAMED = nouns("family friend animal teacher neighbour doctor")


def naming(draw: Draw) -> PhrasePair:
    """My name is Ana. My brother's name is Luis."""
    person = draw_name(draw)
    is_ = draw.choose(("is", "isn't", "is not"))
    no = "" if is_ == "is" else "no "
    if draw.happens(0.4):
        theirs = "her" if person.gender == "f" else "his"
        owner, clitic = draw.choose((("my", "me llamo"), ("your", "te llamas"), (theirs, "se llama")))
        return state(
            f"{owner} name {is_} {person.english}", f"{no}{clitic} {person.spanish}", (pair(owner, person.noun),)
        )
    noun = draw.choose([noun for noun in _NAMED if noun.fits("animal") or noun.gender == person.gender])
    owner_phrase = build(noun, draw.choose(("my", "your", "his", "her", "our", "their")))
    pairs = (pair(noun.english, person.noun),)
    english = f"{owner_phrase.english}'s name {is_} {person.english}"
    return state(english, f"{owner_phrase.spanish} {no}se llama {person.spanish}", pairs)


def whose(draw: Draw) -> PhrasePair:
    """Whose keys are these?"""
    noun = draw.choose(nouns("thing clothes vehicle reading animal house"))
    is_plural = draw.happens(0.4)
    thing = build(noun, "these" if is_plural else "this", draw_adjective(draw, noun, 0.5), is_plural)
    word, _, rest = thing.english.partition(" ")
    english = f"whose {rest} {'are' if is_plural else 'is'} {word}"
    return ask(english, f"de quién {'son' if is_plural else 'es'} {thing.spanish}", subject_pairs(thing, "whose"))


def sum_of(draw: Draw) -> PhrasePair:
    """Two plus three is five."""
    words = tuple(NUMBERS)[:11]
    first = draw.choose(range(9))
    second = draw.choose(range(9 - first))
    total = first + second + 2
    english = f"{words[first]} plus {words[second]} is {words[total]}"
    spanish = f"{NUMBERS[words[first]]} más {NUMBERS[words[second]]} son {NUMBERS[words[total]]}"
    return state(english, spanish, (f"{words[first]} plus {words[second]}",))


def either(draw: Draw) -> PhrasePair:
    """Do you want seven or eight apples?"""
    words = tuple(NUMBERS)[:9]
    low = draw.choose(range(8))
    noun = draw.choose([noun for noun in nouns("food thing chair clothes") if not noun.is_mass])
    verb, verbo = draw.choose((("want", "quieres"), ("need", "necesitas"), ("have", "tienes")))
    many, or_ = NUMBERS[words[low + 1]], "u" if words[low + 1] == "eight" else "o"
    things = build(noun, "the", None, is_plural=True)
    plural, plurales = things.english.partition(" ")[2], things.spanish.partition(" ")[2]
    return ask(
        f"do you {verb} {words[low]} or {words[low + 1]} {plural}",
        f"{verbo} {NUMBERS[words[low]]} {or_} {many} {plurales}",
        (pair(verb, noun.english), pair(words[low], noun.english)),
    )

"""Every pattern of the phrasebook, and how often it is drawn."""

from collections.abc import Callable

from clearhead.data.phrasebook import asking, being, counting, doing, idiomatic, liking, places
from clearhead.data.phrasebook.phrases import Draw
from clearhead.data.phrasebook.sentences import Sentence

Pattern = Callable[[Draw], Sentence]

PATTERNS: dict[Pattern, int] = {
    doing.statement: 26,
    asking.question: 9,
    asking.question_of_circumstance: 5,
    asking.question_of_object: 4,
    asking.question_of_subject: 3,
    asking.where_to: 1,
    doing.wish: 6,
    doing.order: 4,
    doing.let_us: 3,
    doing.object_pronoun: 4,
    doing.pronoun_of_thing: 3,
    doing.gift: 4,
    doing.told: 5,
    doing.two_clauses: 3,
    idiomatic.idiom_told: 2,
    idiomatic.idiom_alone: 2,
    idiomatic.saying: 1,
    idiomatic.idiom_done: 2,
    idiomatic.vocative: 1,
    being.quality: 10,
    being.introduction: 4,
    being.why_state: 1,
    being.because: 3,
    being.how_quality: 2,
    being.what_a: 2,
    being.comparison: 3,
    being.having: 4,
    being.age: 2,
    being.profession: 3,
    being.origin: 2,
    places.location: 5,
    places.there_is: 5,
    counting.price: 3,
    counting.clock: 3,
    counting.weather: 1,
    counting.called: 1,
    counting.whose: 1,
    counting.sum_of: 1,
    counting.either: 1,
    liking.like_thing: 6,
    liking.like_to: 2,
    liking.would_like: 2,
    liking.hurting: 1,
}

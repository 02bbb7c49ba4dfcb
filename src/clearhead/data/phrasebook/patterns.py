"""Every pattern of the phrasebook, and how often it is drawn."""

from collections.abc import Callable

from clearhead.data.phrasebook import being, counting, liking, sentences
from clearhead.data.phrasebook.phrases import Draw
from clearhead.data.phrasebook.sentences import Sentence

Pattern = Callable[[Draw], Sentence]

PATTERNS: dict[Pattern, int] = {
    sentences.statement: 26,
    sentences.question: 9,
    sentences.question_of_circumstance: 5,
    sentences.question_of_object: 4,
    sentences.question_of_subject: 3,
    sentences.where_to: 1,
    sentences.wish: 6,
    sentences.order: 4,
    sentences.let_us: 3,
    sentences.object_pronoun: 4,
    sentences.pronoun_of_thing: 3,
    sentences.gift: 4,
    sentences.told: 5,
    sentences.two_clauses: 3,
    sentences.idiom_told: 2,
    sentences.idiom_alone: 2,
    sentences.idiom_done: 2,
    sentences.vocative: 1,
    being.quality: 10,
    being.why_state: 1,
    being.how_quality: 2,
    being.what_a: 2,
    being.comparison: 3,
    being.having: 4,
    being.age: 2,
    being.profession: 3,
    being.origin: 2,
    being.location: 5,
    counting.there_is: 5,
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

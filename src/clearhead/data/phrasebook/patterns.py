"""Every pattern of the phrasebook, and how often it is drawn."""

from collections.abc import Callable

from clearhead.data.phrasebook import (
    descriptions,
    everyday,
    idiom_sentences,
    locations,
    preferences,
    questions,
    statements,
)
from clearhead.data.phrasebook.phrases import Draw
from clearhead.data.phrasebook.sentences import PhrasePair

Pattern = Callable[[Draw], PhrasePair]

PATTERNS: dict[Pattern, int] = {
    statements.statement: 26,
    questions.question: 9,
    questions.question_of_circumstance: 5,
    questions.question_of_object: 4,
    questions.question_of_subject: 3,
    questions.where_to: 1,
    statements.wish: 6,
    statements.order: 4,
    statements.let_us: 3,
    statements.object_pronoun: 4,
    statements.pronoun_of_thing: 3,
    statements.gift: 4,
    statements.reported_speech: 5,
    statements.two_clauses: 3,
    idiom_sentences.reported_idiom: 2,
    idiom_sentences.idiom_alone: 2,
    idiom_sentences.saying: 1,
    idiom_sentences.conjugated_idiom: 2,
    idiom_sentences.vocative: 1,
    descriptions.quality: 10,
    descriptions.introduction: 4,
    descriptions.why_state: 1,
    descriptions.because: 3,
    descriptions.how_quality: 2,
    descriptions.what_a: 2,
    descriptions.comparison: 3,
    descriptions.having: 4,
    descriptions.age: 2,
    descriptions.profession: 3,
    descriptions.origin: 2,
    locations.location: 5,
    locations.there_is: 5,
    everyday.price: 3,
    everyday.clock: 3,
    everyday.weather: 1,
    everyday.naming: 1,
    everyday.whose: 1,
    everyday.sum_of: 1,
    everyday.either: 1,
    preferences.like_thing: 6,
    preferences.like_to: 2,
    preferences.would_like: 2,
    preferences.hurting: 1,
}

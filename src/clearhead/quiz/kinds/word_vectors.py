"""Sheets on static word vectors.

1: dot products, lengths and cosines of integer vectors. 2: TF-IDF of three short documents. 3: similarities of four
words with one-decimal vectors, or TF-IDF with the smooth formula.
"""

from clearhead.quiz.chance import Chance
from clearhead.quiz.kinds.numbers import Data, Numbers


def draw_word_vectors(chance: Chance, difficulty: int) -> Data:
    """Draw a problem of the kind word-vectors."""
    numbers = Numbers(chance, 0 if difficulty == 1 else 1, 3)
    if difficulty == 2 or (difficulty == 3 and chance.below(2)):
        words = numbers.words(4)
        documents = [[chance.choose(words) for _ in range(chance.between(3, 5))] for _ in range(3)]
        return {"task": "tf-idf", "documents": documents, "idf": "N/df" if difficulty == 2 else "smooth"}
    count, width = (3, 2) if difficulty == 1 else (4, 3)
    vectors = numbers.matrix(count, width)
    return {"task": "similarity", "embedding": dict(zip(numbers.words(count), vectors, strict=True))}

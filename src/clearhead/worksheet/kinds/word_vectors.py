"""Static word vectors: one-hot, TF-IDF and embeddings, and the similarity of words."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, PlainValidator

from clearhead.errors import ProblemError
from clearhead.steps.vocabulary import COSINE, DIVIDE, EMBED, IDF, LENGTH, MULTIPLY, ONE_HOT, SCORE
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.cells import Embedding, Tokens, read_tokens
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import Problem
from clearhead.worksheet.shapes import Shapes


def _documents(raw: object) -> tuple[tuple[str, ...], ...]:
    if not isinstance(raw, list | tuple) or not raw:
        raise ValueError("expected a list of documents, each a list of words or a line of text")
    documents = tuple(
        tuple(document.split()) if isinstance(document, str) else read_tokens(document) for document in raw
    )
    empty = [number for number, words in enumerate(documents, 1) if not words]
    if empty:
        raise ValueError(f"document {empty[0]} has no words")
    return documents


class WordVectorsProblem(Problem):
    """One-hot vectors, TF-IDF, static embeddings, and the similarity of words."""

    summary: ClassVar[str] = "static word vectors: one-hot, TF-IDF, embeddings, or their dot products and cosines"

    kind: Literal["word-vectors"] = "word-vectors"
    task: Literal["one-hot", "tf-idf", "look-up", "similarity"] = Field(
        description="one-hot: vectors with a single 1; tf-idf: vectors of documents; look-up: vectors from an "
        "embedding; similarity: dot products and cosines of the words of an embedding"
    )
    tokens: Tokens = Field((), description="the words (default: all words of the embedding)")
    embedding: Embedding | None = Field(None, description="words with their vectors, {king: [1, 2]}")
    documents: Annotated[tuple[tuple[str, ...], ...], PlainValidator(_documents)] = Field(
        (), description="for tf-idf: a list of documents, each a list of words or a line of text"
    )
    idf: Literal["N/df", "smooth"] = Field("N/df", description="ln(N/df), or smooth: ln((1+N)/(1+df)) + 1")

    def mistakes(self, shapes: Shapes) -> None:
        """Report missing and unused values."""
        if self.task == "tf-idf" and not self.documents:
            shapes.add(("task", "documents"), "task tf-idf needs documents: a list of lines of text.")
        if self.task in ("look-up", "similarity"):
            if self.embedding is None:
                shapes.add(("task", "embedding"), f"task {self.task} needs an embedding: words with their vectors.")
            for word in self.tokens:
                if self.embedding is not None and word not in self.embedding:
                    shapes.add(("tokens", "embedding"), f"tokens: '{word}' has no vector in embedding.")
        elif self.embedding is not None:
            shapes.add(
                ("task", "embedding"),
                f"task {self.task} does not use an embedding. Remove it, or choose another task.",
            )
        if self.task == "one-hot" and not self.tokens:
            shapes.add(("task", "tokens"), "task one-hot needs tokens: the words.")

    def work(self, pen: Pen) -> None:
        """Write the vectors."""
        if self.task == "one-hot":
            words = tuple(dict.fromkeys(self.tokens))
            ids = pen.give_as_rows("tokens", np.array([words.index(word) for word in self.tokens]), rows=self.tokens)
            vocabulary = pen.give_as_rows("words", np.arange(len(words)), symbol="positions", rows=words)
            pen.work(ONE_HOT, ids=ids, words=vocabulary)
        elif self.task == "tf-idf":
            self._tf_idf(pen)
        else:
            x = self._look_up(pen)
            if self.task == "similarity":
                dots, lengths = pen.work(SCORE, symbol="D", q=x, k=x), pen.work(LENGTH, x=x)
                for place in np.flatnonzero(lengths[:, 0] == 0.0):
                    word = (self.tokens or tuple(self.embedding or ()))[place]
                    raise ProblemError(f"the vector of '{word}' has length 0, so it has no direction and no cosine.")
                pen.work(COSINE, dots=dots, lengths=lengths)

    def _look_up(self, pen: Pen) -> Array:
        assert self.embedding is not None
        words, names = list(self.embedding), self.tokens or tuple(self.embedding)
        ids = pen.give_as_rows("tokens", np.array([words.index(word) for word in names]), rows=names)
        table = pen.give_as_rows("E", np.stack(list(self.embedding.values())), rows=tuple(words))
        return pen.work(EMBED, ids=ids, table=table)

    def _tf_idf(self, pen: Pen) -> None:
        words = tuple(dict.fromkeys(word for document in self.documents for word in document))
        counted = np.array([[document.count(word) for word in words] for document in self.documents], dtype=np.float64)
        rows = tuple(f"document {number}" for number in range(1, len(self.documents) + 1))
        counts = pen.give_as_rows("C", counted, rows=rows, columns=words)
        frequency = pen.work(DIVIDE, symbol="tf", scores=counts)
        rare = pen.work(IDF, counts=counts, rule="N/df" if self.idf == "N/df" else "(1+N)/(1+df), plus 1,")
        pen.work(MULTIPLY, symbol="tf·idf", a=frequency, b=rare)

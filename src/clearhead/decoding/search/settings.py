"""The settings of greedy search, beam search and sampling."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from clearhead.errors import Mistake
from clearhead.settings import MisfitError, Settings


class SearchSettings(Settings):
    """Settings of a search; the defaults are greedy search."""

    retired: ClassVar[Mapping[str, Any]] = {"coverage_penalty": 0.0}
    beam: int = Field(1, ge=1, le=4096, description="hypotheses kept at each step; 1 is greedy search")
    n_best: int = Field(1, ge=1, description="translations to return for each sentence, at most `beam`")
    length_penalty: float = Field(
        1.0, ge=0, le=10, description="a score is the log-probability divided by the length to this power; 0 is off"
    )
    stopping: Literal["first", "likely", "proved"] = Field(
        "first",
        description="stop when `beam` hypotheses have ended (first), when the best unfinished hypothesis scores no "
        "better than the worst ended one (likely), or when no better hypothesis is possible (proved)",
    )
    min_length: int = Field(0, ge=0, description="minimum length of a translation in tokens, without the end token")
    max_length: int = Field(512, ge=1, description="maximum length of a translation in tokens, with the end token")
    max_ratio: float = Field(
        2.0, gt=0, le=1000, description="maximum length of a translation, in tokens per source token"
    )
    max_extra: int = Field(8, ge=0, description="tokens that a translation may have in addition to max_ratio")
    no_repeat: int | None = Field(None, ge=1, description="forbid repeated n-grams of this size")
    temperature: float | None = Field(
        None,
        gt=0,
        description="sample tokens at random at this temperature instead of searching: 1 is the model's distribution, "
        "lower values prefer likely tokens",
    )
    top_k: int | None = Field(None, ge=1, description="sample only from this number of most likely tokens")
    top_p: float | None = Field(
        None, gt=0, le=1, description="sample only from the most likely tokens that together have this probability"
    )
    seed: int = Field(1, ge=0, lt=2**31, description="seed of the random numbers for sampling")
    batch_tokens: int | None = Field(
        None, ge=1, description="source tokens in one batch, including padding; by default 1,024 (16,384 on a GPU)"
    )

    def tokens_on(self, device: str) -> int:
        """Return the number of source tokens in a batch, including padding, on a type of device."""
        return self.batch_tokens or (16_384 if device == "cuda" else 1024)

    @property
    def is_sampling(self) -> bool:
        """Whether tokens are drawn at random."""
        return self.temperature is not None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        mistakes = []
        if not self.is_sampling and self.n_best > self.beam:
            sentence = f"n_best = {self.n_best} is more than beam = {self.beam}. Use a beam of {self.n_best}"
            mistakes.append(Mistake(("n_best", "beam"), sentence))
        if self.is_sampling and self.beam > 1:
            sentence = f"temperature samples at random, but beam = {self.beam} searches. Remove one of them"
            mistakes.append(Mistake(("temperature", "beam"), sentence))
        if not self.is_sampling and (self.top_k is not None or self.top_p is not None):
            sentence = "top_k and top_p only apply to sampling. Give a temperature too, for example 1.0"
            mistakes.append(Mistake(("top_k", "top_p", "temperature"), sentence))
        if self.min_length >= self.max_length:
            sentence = f"min_length = {self.min_length} must be less than max_length = {self.max_length}"
            mistakes.append(Mistake(("min_length", "max_length"), sentence))
        if mistakes:
            raise MisfitError(mistakes)
        return self

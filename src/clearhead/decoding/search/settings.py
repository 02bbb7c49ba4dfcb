"""How translations are searched for: the settings of greedy search, beam search and sampling alike."""

from typing import Literal, Self

from pydantic import Field, model_validator

from clearhead.errors import Mistake
from clearhead.settings import MisfitError, Settings


class SearchSettings(Settings):
    """One search; the defaults are greedy."""

    beam: int = Field(1, ge=1, le=4096, description="hypotheses kept at each step; 1 is greedy search")
    n_best: int = Field(1, ge=1, description="translations to return for each sentence, at most `beam`")
    length_penalty: float = Field(
        1.0, ge=0, le=10, description="a score is the log-probability divided by the length to this power; 0 is off"
    )
    coverage_penalty: float = Field(
        0.0, ge=0, description="weight of what a translation loses for source tokens that it attended to too little"
    )
    stopping: Literal["first", "likely", "proved"] = Field(
        "first",
        description="stop when as many hypotheses as `beam` have ended (first), when the best that goes on is now no "
        "better than the worst ended one (likely), or when nothing better can come (proved)",
    )
    min_length: int = Field(0, ge=0, description="shortest translation in tokens, its end not counted")
    max_length: int = Field(512, ge=1, description="longest translation in tokens, its end included")
    max_ratio: float = Field(2.0, gt=0, description="longest translation, in tokens for each token of the source")
    max_extra: int = Field(8, ge=0, description="tokens that a translation may have beyond max_ratio")
    no_repeat: int | None = Field(None, ge=1, description="no run of so many tokens is written twice")
    temperature: float | None = Field(
        None, gt=0, description="draw tokens at random instead of searching: 1 as the model says, less is more careful"
    )
    top_k: int | None = Field(None, ge=1, description="draw from the so many likeliest tokens")
    top_p: float | None = Field(None, gt=0, le=1, description="draw from the likeliest tokens that make up this share")
    seed: int = Field(1, ge=0, lt=2**31, description="where the draws start")
    batch_tokens: int | None = Field(
        None, ge=1, description="source tokens in one batch, padding included; if left out: 1,024 (a GPU: 16,384)"
    )

    def tokens_on(self, device: str) -> int:
        """Return how many source tokens, padding included, a batch has on a kind of device."""
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
            sentence = f"temperature draws at random, and beam = {self.beam} searches. Leave one of them out"
            mistakes.append(Mistake(("temperature", "beam"), sentence))
        if not self.is_sampling and (self.top_k is not None or self.top_p is not None):
            sentence = "top_k and top_p say what is drawn from. Give a temperature too, 1.0 say"
            mistakes.append(Mistake(("top_k", "top_p", "temperature"), sentence))
        if self.min_length >= self.max_length:
            sentence = f"min_length = {self.min_length} leaves no room below max_length = {self.max_length}"
            mistakes.append(Mistake(("min_length", "max_length"), sentence))
        if mistakes:
            raise MisfitError(mistakes)
        return self

"""The settings of `text:`, which decide how text becomes token ids."""

from typing import Literal

from pydantic import Field

from clearhead.settings import Settings

Task = Literal["translate", "classify", "language-model"]
MIN_SIZE_FOR_BYTES = 1024  # pieces; in a smaller vocabulary, the 256 bytes would be more than a quarter of it


class TextConfig(Settings):
    """The tokeniser: trained as part of `train`, or an existing one."""

    kind: Literal["unigram", "bpe", "word", "char"] = Field(
        "unigram",
        description="the units that SentencePiece splits text into: subwords (unigram, bpe), words or characters",
    )
    vocabulary: int = Field(
        8000,
        ge=5,
        le=2**20,
        description="number of pieces, including special tokens; the vocabulary is smaller if the text is too short",
    )
    is_joint: bool = Field(True, description="one vocabulary for both languages")
    byte_fallback: bool | None = Field(
        None, description="spell characters without a piece as bytes, which take 256 pieces, so that no text is "
        f"unknown; default: true for unigram and bpe with at least {MIN_SIZE_FOR_BYTES} pieces",
    )  # fmt: skip
    byte_share: float = Field(
        0.05, ge=0, le=0.5, description="share of the training pairs in which some characters, mostly rare ones, are "
        "spelled as bytes, so that byte pieces are trained; no effect without byte_fallback",
    )  # fmt: skip
    coverage: float = Field(
        1.0, ge=0.98, le=1, description="share of the text that the characters of the vocabulary must cover, most "
        "frequent first; with byte_fallback, characters take at most half of the other pieces",
    )  # fmt: skip
    normalisation: Literal["nfc", "nfkc", "none"] = Field("nfc", description="Unicode normalisation form of all text")
    lower_case: bool = Field(False, description="convert all text to lower case")
    sampling: float = Field(
        0.0, ge=0, le=1, description="split every sentence differently in each epoch (subword regularisation): for "
        "unigram the exponent of the sampling probabilities, for bpe the share of merges that are dropped; 0 is off",
    )  # fmt: skip
    max_sentences: int = Field(
        200_000,
        ge=1,
        description="maximum number of sentences to train the tokeniser on; a random sample is used if there are more",
    )
    tokeniser: str | None = Field(
        None, description="use this run folder, OPUS-MT folder or SentencePiece model instead of training a tokeniser"
    )

    @property
    def has_bytes(self) -> bool:
        """Whether a vocabulary that is trained with these settings has byte pieces."""
        if self.byte_fallback is not None:
            return self.byte_fallback
        return self.kind in ("unigram", "bpe") and self.vocabulary >= MIN_SIZE_FOR_BYTES

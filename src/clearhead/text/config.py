"""How text becomes ids: the settings of `text:`."""

from typing import Literal

from pydantic import Field

from clearhead.settings import Settings

Task = Literal["translate", "classify", "language-model"]


class TextConfig(Settings):
    """The tokeniser, trained inside `train` or taken from elsewhere."""

    kind: Literal["unigram", "bpe", "word", "char"] = Field(
        "unigram", description="what SentencePiece cuts text into: subwords (unigram, bpe), words or characters"
    )
    vocabulary: int = Field(
        8000, ge=5, le=2**20, description="pieces, special tokens included; fewer if the text has not so many"
    )
    is_joint: bool = Field(True, description="one vocabulary for both languages")
    byte_fallback: bool = Field(False, description="spell unseen characters as bytes, so that nothing is unknown")
    coverage: float = Field(
        0.9995, gt=0, le=1, description="share of the text's characters that get a piece (1.0 for small alphabets)"
    )
    normalisation: Literal["nfc", "nfkc", "none"] = Field("nfc", description="Unicode form that all text is put into")
    lower_case: bool = Field(False, description="read everything in lower case")
    sampling: float = Field(
        0.0, ge=0, le=1, description="cut every sentence at random anew each epoch: the sharpness of unigram's choice, "
        "or the share of merges that bpe drops; 0 is off",
    )  # fmt: skip
    max_sentences: int = Field(
        200_000, ge=1, description="sentences that the tokeniser is trained on; drawn at random when there are more"
    )
    tokeniser: str | None = Field(
        None, description="a run folder, an OPUS-MT folder or a SentencePiece model to use instead of training one"
    )

"""How translations are searched for: the settings of greedy search, beam search and sampling alike."""

from pydantic import Field

from clearhead.settings import Settings


class SearchSettings(Settings):
    """One search; the defaults are greedy."""

    beam: int = Field(1, ge=1, le=4096, description="hypotheses kept at each step; 1 is greedy search")
    n_best: int = Field(1, ge=1, description="translations to return for each sentence, at most `beam`")
    max_ratio: float = Field(2.0, gt=0, description="longest translation, in tokens for each token of the source")
    max_extra: int = Field(8, ge=0, description="tokens that a translation may have beyond max_ratio")
    max_length: int = Field(512, ge=1, description="longest translation in tokens, its end included")
    batch_tokens: int = Field(1024, ge=1, description="source tokens in one batch, padding included")

"""Where sentences come from and which are kept: the settings of `data:`."""

from typing import Literal

from pydantic import Field

from clearhead.settings import Settings

BuiltIn = Literal["phrasebook", "set-phrases", "copy", "reverse", "sort"]


class CorpusConfig(Settings):
    """One corpus: two aligned files, a TSV file, a JSONL file, or a built-in one. Files may be .gz or .xz."""

    source: str | None = Field(None, description="file of source sentences, one a line (language-model: the text)")
    target: str | None = Field(None, description="file of their translations, line by line (classify: of labels)")
    tsv: str | None = Field(None, description="file of tab-separated columns")
    jsonl: str | None = Field(None, description="file of one JSON object a line")
    built_in: BuiltIn | None = Field(None, description="a corpus that clearhead makes itself")
    split: Literal["train", "valid", "test"] | None = Field(None, description="part of a built-in corpus")
    source_field: str = Field("source", description="key of a JSONL object; column of a TSV file, by number from 1")
    target_field: str = Field("target", description="the same for the target")
    weight: float = Field(1.0, gt=0, le=1000, description="how often an epoch reads this corpus: 2 is twice, 0.5 half")
    language: str | None = Field(
        None,
        pattern=r"^[A-Za-z][A-Za-z0-9_-]*$",
        description="target language of a one-to-many model: tags the source with >>hi<<",
    )


class DataConfig(Settings):
    """Corpora and filters."""

    train: tuple[CorpusConfig, ...] = Field(min_length=1, description="what is learned from: one corpus or more")
    valid: CorpusConfig | None = Field(None, description="held-out sentences that training is judged by")
    on_fault: Literal["refuse", "skip"] = Field(
        "refuse", description="invalid UTF-8, NUL bytes, missing fields: stop, or leave the line out and count it"
    )
    on_empty: Literal["refuse", "skip"] = Field("skip", description="a pair with an empty side")
    max_words: int | None = Field(None, ge=1, description="leave out pairs with a longer side (words between spaces)")
    max_tokens: int = Field(128, ge=2, description="leave out pairs with a longer side (tokens, the end included)")
    max_ratio: float | None = Field(
        None, gt=1, description="leave out pairs where one side has so many times the words"
    )
    deduplicate: bool = Field(False, description="leave out pairs that were seen before")
    max_pairs: int | None = Field(None, ge=1, description="read only the first so many pairs of each corpus")

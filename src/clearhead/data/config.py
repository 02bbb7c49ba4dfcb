"""The settings of `data:`, which select the corpora and the filters."""

from typing import Literal

from pydantic import Field

from clearhead.settings import Settings

BuiltIn = Literal["phrasebook", "set-phrases", "copy", "reverse", "sort"]


class CorpusConfig(Settings):
    """One corpus: two aligned files, a TSV file, a JSONL file, or a built-in corpus. Files can be .gz or .xz."""

    source: str | None = Field(None, description="file of source sentences, one per line (language-model: the text)")
    target: str | None = Field(None, description="file of their translations, line by line (classify: the labels)")
    tsv: str | None = Field(None, description="file of tab-separated columns")
    jsonl: str | None = Field(None, description="file with one JSON object per line")
    built_in: BuiltIn | None = Field(None, description="a corpus that clearhead generates")
    split: Literal["train", "valid", "test"] | None = Field(None, description="part of a built-in corpus")
    source_field: str = Field("source", description="key of a JSONL object, or TSV column: its name or number, from 1")
    target_field: str = Field("target", description="the same for the target")
    weight: float = Field(
        1.0, gt=0, le=1000, description="how often an epoch reads this corpus: 2 is twice, 0.5 is half of it"
    )
    language: str | None = Field(
        None,
        pattern=r"^[A-Za-z][A-Za-z0-9_-]*$",
        description="target language of a one-to-many model: tags the source with >>hi<<",
    )


class DataConfig(Settings):
    """Corpora and filters."""

    train: tuple[CorpusConfig, ...] = Field(min_length=1, description="the training data: one or more corpora")
    valid: CorpusConfig | None = Field(None, description="held-out sentences for validation")
    on_fault: Literal["refuse", "skip"] = Field(
        "refuse", description="invalid UTF-8, NUL bytes, missing fields: stop, or skip the line and count it"
    )
    on_empty: Literal["refuse", "skip"] = Field(
        "skip", description="a pair with an empty side: stop, or skip it and count it"
    )
    max_words: int | None = Field(None, ge=1, description="drop pairs with a longer side (words separated by spaces)")
    max_tokens: int = Field(128, ge=2, description="drop pairs with a longer side (tokens, including the end token)")
    max_ratio: float | None = Field(
        None, gt=1, description="drop pairs where one side has more than this many times the words of the other"
    )
    deduplicate: bool = Field(False, description="drop pairs that occurred before")
    max_pairs: int | None = Field(None, ge=1, description="read only this many pairs of each corpus")

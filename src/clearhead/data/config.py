"""The settings of `data:`, which select the corpora and the filters."""

from typing import Literal

from pydantic import Field

from clearhead.data.phrasebook import Split
from clearhead.settings import Settings

BuiltIn = Literal["phrasebook", "set-phrases", "copy", "reverse", "sort"]


class CorpusConfig(Settings):
    """One corpus: two aligned files, a TSV file, a JSONL file, or a built-in corpus. Files can be .gz or .xz."""

    source: str | None = Field(None, description="file of source sentences, one per line (language-model: the text)")
    target: str | None = Field(
        None, description="file of the translations of `source`, line by line (classify: the labels)"
    )
    tsv: str | None = Field(None, description="file of tab-separated columns")
    jsonl: str | None = Field(None, description="file with one JSON object per line")
    built_in: BuiltIn | None = Field(None, description="a corpus that comes with clearhead")
    split: Split | None = Field(None, description="part of a built-in corpus")
    source_field: str = Field("source", description="JSONL key or TSV column (name, or number from 1) of the source")
    target_field: str = Field("target", description="JSONL key or TSV column (name, or number from 1) of the target")
    weight: float = Field(
        1.0, gt=0, le=1000, description="number of times that an epoch reads this corpus; 0.5 reads a random half of it"
    )
    language: str | None = Field(
        None,
        pattern=r"^[A-Za-z][A-Za-z0-9_-]*$",
        description="target language, if the model has several: `hi` adds the tag >>hi<< to the source",
    )

    def in_split(self, split: Split) -> "CorpusConfig":
        """Return the corpus; a built-in one that states no split becomes this split of it."""
        is_open = self.built_in is not None and self.split is None
        return self.model_copy(update={"split": split}) if is_open else self


class DataConfig(Settings):
    """Corpora and filters."""

    train: tuple[CorpusConfig, ...] = Field(min_length=1, description="the training data: one or more corpora")
    valid: CorpusConfig | None = Field(None, description="held-out sentences for validation")
    test: CorpusConfig | None = Field(
        None, description="more held-out sentences (translate), which are translated and scored once at the end"
    )
    on_fault: Literal["refuse", "skip"] = Field(
        "refuse",
        description="lines with invalid UTF-8, NUL bytes or missing fields: stop with an error (refuse), or skip and "
        "count them",
    )
    on_empty: Literal["refuse", "skip"] = Field(
        "skip", description="pairs with an empty side: stop with an error (refuse), or skip and count them"
    )
    max_words: int | None = Field(
        None, ge=1, description="drop pairs in which one side has more words (separated by spaces) than this"
    )
    max_tokens: int = Field(
        128, ge=2, description="drop pairs in which one side has more tokens (including the end token) than this"
    )
    max_ratio: float | None = Field(
        None, gt=1, description="drop pairs in which one side has more than max_ratio times the words of the other"
    )
    deduplicate: bool = Field(False, description="drop pairs that already occurred in the training data")
    max_pairs: int | None = Field(None, ge=1, description="read only the first max_pairs pairs of each corpus")

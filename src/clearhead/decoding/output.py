"""Format a translation as text, as columns or as a JSON object."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clearhead.decoding.translation import Translation
from clearhead.decoding.word_alignment import pharaoh


@dataclass(frozen=True)
class OutputColumns:
    """What to write for each line in addition to its translation."""

    n_best: bool = False
    scores: bool = False
    alignment: bool = False

    @property
    def headings(self) -> list[str]:
        """The headings of the columns added to a table."""
        scores = ["score", "log_probs"] if self.scores else []
        return ["translation", *scores, *(["alignment"] if self.alignment else [])]


def to_lines(translation: Translation, columns: OutputColumns) -> list[str]:
    """Return the translation followed by its columns; with n_best, one line for each translation."""
    if columns.n_best:
        ranks = range(translation.num_texts)
        return [
            f"{translation.number}\t{translation.score_of(rank):.4f}\t{translation.text_of(rank)}" for rank in ranks
        ]
    cells = [translation.text]
    if columns.scores:
        cells.append(f"{translation.score_of(0):.4f}")
        cells.append(" ".join(f"{log_prob:.4f}" for log_prob in translation.token_log_probs))
    if columns.alignment:
        alignment = translation.alignment
        cells.append(pharaoh(alignment.links if alignment is not None else ()))
    return ["\t".join(cells)]


def to_record(translation: Translation, columns: OutputColumns, pieces: Sequence[str] = ()) -> dict[str, Any]:
    """Return a translation as data for JSON; `pieces` are the tokens of the best translation."""
    record: dict[str, Any] = {
        "line": translation.number,
        "source": translation.source,
        "translation": translation.text,
        "score": translation.score_of(0),
        "log_prob": translation.log_prob_of(0),
        "has_ended": translation.has_ended,
    }
    record["notes"] = list(translation.notes)
    if len(translation.parts) > 1:
        record["parts"] = [{"source": part.source, "translation": part.texts[0]} for part in translation.parts]
    if columns.n_best:
        record["n_best"] = [
            {
                "translation": translation.text_of(rank),
                "score": translation.score_of(rank),
                "log_prob": translation.log_prob_of(rank),
            }
            for rank in range(translation.num_texts)
        ]
    if columns.scores:
        record["tokens"] = [
            {"piece": piece, "log_prob": log_prob}
            for piece, log_prob in zip(pieces, translation.token_log_probs, strict=True)
        ]
    if columns.alignment:
        alignment = translation.alignment
        record["alignment"] = pharaoh(alignment.links if alignment is not None else ())
        record["source_words"] = list(alignment.source) if alignment is not None else []
        record["target_words"] = list(alignment.target) if alignment is not None else []
    return record

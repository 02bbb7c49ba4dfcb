"""Score the pairs of files, window by window: as columns or as JSON, or only the pairs that pass a filter.

An interrupted job can be resumed from its unfinished output file; no pair is lost or written twice.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from clearhead.decoding.scoring import SCORE_WINDOW, ScoredTarget, Scorer, ScoreTotal, TextPair
from clearhead.decoding.windowed_job import WindowedJob
from clearhead.errors import ConfigError

_HEADINGS = ("log_prob", "perplexity", "tokens")


@dataclass(frozen=True)
class ScoreOutput:
    """What is written for each pair; with `max_perplexity`, the pairs themselves, if theirs is not greater."""

    tokens: bool = False
    as_json: bool = False
    is_total: bool = False  # nothing is written for each pair
    max_perplexity: float | None = None

    @property
    def heading(self) -> str:
        """The line above all others, with a line end; empty if there is none."""
        if self.as_json or self.is_total or self.max_perplexity is not None:
            return ""
        return "\t".join([*_HEADINGS, *["log_probs"] * self.tokens]) + "\n"


class ScoringJob(WindowedJob[TextPair]):
    """Scores windows of pairs with one scorer; `total` is the total of all of them."""

    done = "scored"

    def __init__(self, scorer: Scorer, output: ScoreOutput = ScoreOutput()) -> None:
        self.scorer, self.output = scorer, output
        self.total = ScoreTotal()
        self.num_kept = 0  # pairs that passed the filter
        self._progress: Callable[[int], None] = lambda num_pairs: None

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that affects the output; resuming a file requires the same settings."""
        model = self.scorer.model
        return {
            "model": self.scorer.fingerprint,
            "vocabulary": self.scorer.vocabularies.digest,
            "engine": f"torch, {model.device.type}, {str(model.dtype).removeprefix('torch.')}",
            "too_long": self.scorer.too_long,
            "output": asdict(self.output),
            "window": SCORE_WINDOW,
            **({} if self.scorer.language is None else {"language": self.scorer.language}),
        }

    def content(self, window: Sequence[TextPair]) -> bytes:
        """Score the next window; return the bytes to write."""
        first = self.num_earlier + self.total.num_sentences + 1
        total = ScoreTotal()
        lines = []
        for pair, target in zip(window, self.scorer.score_window(window, first), strict=True):
            total.add(target)
            if not self.output.is_total and self._is_kept(target):
                self.num_kept += 1
                lines.append(self._json(pair, target) if self.output.as_json else self._line(pair, target))
        self.total.merge(total)  # by windows, so that the sum of many numbers is the same in every way to run a job
        self._progress(self.total.num_sentences)
        heading = self.output.heading if first == 1 else ""
        return (heading + "".join(f"{line}\n" for line in lines)).encode(errors="replace")

    def _is_kept(self, target: ScoredTarget) -> bool:
        limit = self.output.max_perplexity
        return limit is None or (target.perplexity is not None and target.perplexity <= limit)

    def _line(self, pair: TextPair, target: ScoredTarget) -> str:
        if self.output.max_perplexity is not None:
            texts = [pair.source, pair.target] if self.scorer.has_source else [pair.target]
            return "\t".join(text.replace("\t", " ") for text in texts)
        if target.perplexity is None:
            cells = ["" if target.is_skipped else "0", "", "" if target.is_skipped else "0"]
        else:
            cells = [f"{target.log_prob:.6f}", f"{target.perplexity:.6g}", str(len(target.tokens))]
        if self.output.tokens:
            pieces = self.scorer.vocabularies.target.pieces(target.tokens)
            values = zip(pieces, target.log_probs, strict=True)
            cells.append(" ".join(f"{piece}:{value:.4f}" for piece, value in values))
        return "\t".join(cells)

    def _json(self, pair: TextPair, target: ScoredTarget) -> str:
        record: dict[str, Any] = {}
        if self.output.max_perplexity is not None:
            record |= {"source": pair.source} if self.scorer.has_source else {}
            record["target"] = pair.target
        record |= {
            "log_prob": None if target.is_skipped else target.log_prob,
            "perplexity": finite(target.perplexity),
            "num_tokens": None if target.is_skipped else len(target.tokens),
        }
        if self.output.tokens:
            pieces = self.scorer.vocabularies.target.pieces(target.tokens)
            record |= {"tokens": pieces, "log_probs": target.log_probs}
        return json.dumps(record, ensure_ascii=False)

    def run(
        self,
        pairs: Iterator[TextPair],
        output: Path | None = None,
        *,
        resume: bool = False,
        progress: Callable[[int], None] = lambda num_pairs: None,
    ) -> bool:
        """Score all pairs to standard output, a pipe, or a file that gets its name when it is complete.

        Return False if the file was complete already. `total` is the total of the pairs that this run has scored.
        """
        self._progress = progress
        windows = iter(lambda: list(islice(pairs, SCORE_WINDOW)), [])
        return self.write(pairs, windows, output, self.settings, resume=resume)

    def input_line(self, item: TextPair) -> str:
        """Return both texts; they themselves cannot contain NUL."""
        return f"{item.source}\0{item.target}"


def finite(value: float | None) -> float | None:
    """Return None for infinity, which JSON cannot represent."""
    return None if value is None or math.isinf(value) else value


def check_num_files(number: int, *, has_source: bool) -> None:
    """Raise ConfigError unless there are two files for a translation model, or one for a language model."""
    if has_source and number != 2:
        raise ConfigError(f"this model translates: give two files, the sentences and their translations, not {number}.")
    if not has_source and number != 1:
        raise ConfigError(f"this is a language model, which reads no source: give one file, not {number}.")

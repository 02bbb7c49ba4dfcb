"""The same run with several seeds: the mean of each score, and its standard deviation."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from rich.console import Console

from clearhead.errors import RunError, printable
from clearhead.training.config import RunConfig
from clearhead.training.launch import launch
from clearhead.training.outcome import Outcome
from clearhead.training.run import RunFolder


@dataclass(frozen=True)
class Spread:
    """One score over several seeds. `deviation` is the sample standard deviation (None for a single run)."""

    name: str
    mean: float
    deviation: float | None
    values: Mapping[int, float]
    signature: str

    def __str__(self) -> str:
        """Return mean and deviation with the number of runs and the signature."""
        around = "" if self.deviation is None else f" ± {self.deviation:.2g}"
        return f"{self.name} {self.mean:.4g}{around} ({len(self.values)} seeds; {self.signature})"


@dataclass(frozen=True)
class SeedsReport:
    """How several runs ended, by seed, and the scores over all runs that were not interrupted."""

    outcomes: Mapping[int, Outcome]
    spreads: Mapping[str, Spread]  # by the name of the metric in a config

    @property
    def is_interrupted(self) -> bool:
        """Whether it was interrupted before all seeds were done."""
        return any(outcome.stopped == "interrupted" for outcome in self.outcomes.values())

    def to_data(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return {
            "seeds": {str(seed): outcome.to_data() for seed, outcome in self.outcomes.items()},
            "scores": {metric: asdict(spread) for metric, spread in self.spreads.items()},
        }


def train_seeds(
    config: RunConfig, path: str | Path, count: int, *, resume: bool = False, console: Console | None = None
) -> SeedsReport:
    """Train once for each of `count` seeds, starting at the config's seed, in folders below `path`.

    With `resume`, finished seeds are skipped, an interrupted one is resumed, and the others are started.
    """
    parent = Path(path).expanduser()
    if not resume and parent.is_dir() and any(parent.iterdir()):
        raise RunError(
            f"{printable(str(parent))} is not empty, and files are not overwritten. Choose another folder, "
            "or resume the seeds in it.",
            options=("run", "resume"),
        )
    outcomes: dict[int, Outcome] = {}
    for seed in range(config.training.seed, config.training.seed + count):
        outcomes[seed] = _train_one(config, parent / f"seed-{seed}", seed, resume, console)
        report = summarise(outcomes)
        RunFolder(parent).write_json("seeds.json", report.to_data())
        if report.is_interrupted:
            break
    return report


def _train_one(config: RunConfig, path: Path, seed: int, resume: bool, console: Console | None) -> Outcome:
    training = config.training.model_copy(update={"seed": seed})
    config = config.model_copy(update={"training": training, "run": str(path)})
    folder = RunFolder(path)
    goes_on = resume and folder.holds_a_run
    outcome = folder.read_outcome() if goes_on else None
    if outcome is not None and outcome.is_finished:
        return outcome
    return launch(config, path, resume=goes_on, console=console)


def summarise(outcomes: Mapping[int, Outcome]) -> SeedsReport:
    """Return the mean and deviation of every score over all complete runs."""
    complete = {seed: outcome for seed, outcome in outcomes.items() if outcome.stopped != "interrupted"}
    first = next(iter(complete.values()), None)
    spreads = {}
    for metric, first_score in first.scores.items() if first else ():
        scores = {seed: outcome.scores[metric] for seed, outcome in complete.items() if metric in outcome.scores}
        signatures = {score.signature for score in scores.values()}
        if len(signatures) > 1:
            raise RunError(
                f"{first_score.name} has different signatures ({'; '.join(sorted(signatures))}): its values cannot be "
                "averaged."
            )
        values = {seed: score.value for seed, score in scores.items()}
        deviation = stdev(values.values()) if len(values) > 1 else None
        spreads[metric] = Spread(first_score.name, fmean(values.values()), deviation, values, signatures.pop())
    return SeedsReport(dict(outcomes), spreads)

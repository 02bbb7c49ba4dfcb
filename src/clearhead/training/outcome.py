"""How a run ended: the result of the loop, which is saved in outcome.json."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite, nan
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, NonNegativeInt, TypeAdapter

if TYPE_CHECKING:
    from clearhead.evaluation.scores import Score

Stopped = Literal["steps", "epochs", "patience", "enough", "minutes", "interrupted"]
FINISHED: tuple[Stopped, ...] = ("steps", "epochs", "patience", "enough")
WORDS: Mapping[Stopped, str] = {
    "steps": "all updates are done",
    "epochs": "all epochs are done",
    "patience": "validation stopped improving",
    "enough": "validation reached the required score",
    "minutes": "the time limit was reached",
    "interrupted": "the run was interrupted",
}


def _nan_for_null(value: Any) -> Any:
    return nan if value is None else value


@dataclass(frozen=True)
class KeptScore:
    """A score with the signature that describes how it was computed."""

    name: str
    value: Annotated[float, BeforeValidator(_nan_for_null)]
    signature: str


def kept_scores(scores: Mapping[str, "Score"]) -> dict[str, KeptScore]:
    """Return the scores that are finite numbers, as they are kept in files."""
    finite = {name: score for name, score in scores.items() if isfinite(score.value)}
    return {name: KeptScore(score.name, score.value, score.signature) for name, score in finite.items()}


@dataclass(frozen=True)
class Sample:
    """A sentence of the test set, its translation by the model, and the reference."""

    source: str
    translation: str
    reference: str


@dataclass(frozen=True)
class Outcome:
    """How a run ended. `scores` are those of the best checkpoint on the validation set.

    `test_scores` and `samples` are those of `data.test`, if there is one and the run is finished. `advice` says whether
    the model is usable, and what to do if it is not.
    """

    steps: NonNegativeInt
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    stopped: Stopped
    scores: Mapping[str, KeptScore] = field(default_factory=dict)
    best_step: NonNegativeInt | None = None
    test_scores: Mapping[str, KeptScore] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    advice: tuple[str, ...] = ()

    @property
    def is_finished(self) -> bool:
        """Whether the run cannot be resumed without a change of its settings."""
        return self.stopped in FINISHED

    @property
    def longer(self) -> str:
        """The change of a setting with which a finished run can be resumed."""
        if self.stopped == "steps":
            return f"training.steps={2 * self.steps}"
        return "training.epochs=MORE" if self.stopped == "epochs" else f"validation.{self.stopped}=MORE"

    def to_data(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        data: dict[str, Any] = {
            "steps": self.steps,
            "seconds": round(self.seconds, 3),
            "stopped": self.stopped,
            "best_step": self.best_step,
            "scores": _scores_data(self.scores),
        }
        if self.test_scores:
            data["test_scores"] = _scores_data(self.test_scores)
            data["samples"] = [asdict(sample) for sample in self.samples]
        if self.advice:
            data["advice"] = list(self.advice)
        return data

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Outcome":
        """Return the outcome described by plain data; raise ValueError if it is incomplete or impossible."""
        return _OUTCOME.validate_json(json.dumps(data), strict=True)  # JSON has no tuples, so that lists are fine


_OUTCOME = TypeAdapter(Outcome)


def _scores_data(scores: Mapping[str, KeptScore]) -> dict[str, Any]:
    # JSON has no NaN
    return {
        name: {**asdict(score), "value": score.value if isfinite(score.value) else None}
        for name, score in scores.items()
    }

"""How a run ended: the result of the loop, which is saved in outcome.json."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite, nan
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, Field, NonNegativeInt

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


class ScoreLike(Protocol):
    """A score with the signature that describes how it was computed."""

    @property
    def name(self) -> str:
        """The name of the metric."""

    @property
    def value(self) -> float:
        """The value of the metric."""

    @property
    def signature(self) -> str:
        """How the value was computed."""


@dataclass(frozen=True)
class KeptScore:
    """A score that was read from a file."""

    name: str
    value: float
    signature: str


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

    steps: int
    seconds: float
    stopped: Stopped
    scores: Mapping[str, ScoreLike] = field(default_factory=dict)
    best_step: int | None = None
    test_scores: Mapping[str, ScoreLike] = field(default_factory=dict)
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
        saved = _SavedOutcome.model_validate(data, strict=True)
        scores, test_scores = (
            {
                name: KeptScore(score.name, nan if score.value is None else score.value, score.signature)
                for name, score in group.items()
            }
            for group in (saved.scores, saved.test_scores)
        )
        samples = tuple(Sample(sample.source, sample.translation, sample.reference) for sample in saved.samples)
        advice = tuple(saved.advice)
        return cls(saved.steps, saved.seconds, saved.stopped, scores, saved.best_step, test_scores, samples, advice)


def _scores_data(scores: Mapping[str, ScoreLike]) -> dict[str, Any]:
    return {
        # JSON has no NaN
        name: {
            "name": score.name,
            "value": score.value if isfinite(score.value) else None,
            "signature": score.signature,
        }
        for name, score in scores.items()
    }


class _SavedScore(BaseModel):
    """A score in outcome.json."""

    name: str
    value: float | None
    signature: str


class _SavedSample(BaseModel):
    """A sample in outcome.json."""

    source: str
    translation: str
    reference: str


class _SavedOutcome(BaseModel):
    """The content of outcome.json."""

    steps: NonNegativeInt
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    stopped: Stopped
    best_step: NonNegativeInt | None
    scores: dict[str, _SavedScore]
    test_scores: dict[str, _SavedScore] = {}
    samples: list[_SavedSample] = []
    advice: list[str] = []

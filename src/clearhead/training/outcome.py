"""How a run ended: what the loop returns, and what is kept of it in outcome.json."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite, nan
from typing import Any, Literal, Protocol

Stopped = Literal["steps", "epochs", "patience", "enough", "minutes", "interrupted"]
FINISHED: tuple[Stopped, ...] = ("steps", "epochs", "patience", "enough")
WORDS: Mapping[Stopped, str] = {
    "steps": "all updates were made",
    "epochs": "the data was read as often as was asked",
    "patience": "validation had stopped improving",
    "enough": "validation was as good as was asked",
    "minutes": "the time was up",
    "interrupted": "it was interrupted",
}


class ScoreLike(Protocol):
    """A number with the signature that says how it was made."""

    @property
    def name(self) -> str:
        """What was measured."""

    @property
    def value(self) -> float:
        """The number."""

    @property
    def signature(self) -> str:
        """How it was made."""


@dataclass(frozen=True)
class KeptScore:
    """A score as it is read back from a file."""

    name: str
    value: float
    signature: str


@dataclass(frozen=True)
class Outcome:
    """How a run ended; `scores` are those of the best checkpoint on the validation set."""

    steps: int
    seconds: float
    stopped: Stopped
    scores: Mapping[str, ScoreLike] = field(default_factory=dict)
    best_step: int | None = None

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to do, unless the settings change."""
        return self.stopped in FINISHED

    @property
    def longer(self) -> str:
        """The change of a setting that would let a finished run go on."""
        if self.stopped == "steps":
            return f"training.steps={2 * self.steps}"
        return "training.epochs=MORE" if self.stopped == "epochs" else f"validation.{self.stopped}=MORE"

    def to_data(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return {
            "steps": self.steps,
            "seconds": round(self.seconds, 3),
            "stopped": self.stopped,
            "best_step": self.best_step,
            "scores": {
                # JSON has no NaN
                name: {
                    "name": score.name,
                    "value": score.value if isfinite(score.value) else None,
                    "signature": score.signature,
                }
                for name, score in self.scores.items()
            },
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Outcome":
        """Return the outcome that plain data describes."""
        scores = {
            name: KeptScore(score["name"], nan if score["value"] is None else score["value"], score["signature"])
            for name, score in data["scores"].items()
        }
        return cls(data["steps"], data["seconds"], data["stopped"], scores, data["best_step"])

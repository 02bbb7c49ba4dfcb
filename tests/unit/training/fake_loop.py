"""A loop that learns nothing and ends as requested, for tests of the code around the loop."""

import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest

from clearhead.training.config import RunConfig
from clearhead.training.distributed.world import ALONE, World
from clearhead.training.outcome import KeptScore, Outcome, Stopped
from clearhead.training.progress import Reporter
from clearhead.training.run import RunFolder

SIGNATURE = "nrefs:1|case:mixed|version:2"


def corpus_record(path: str, files: dict[str, str], read: int, kept: int, left_out: dict[str, int]) -> dict[str, Any]:
    """Return one corpus as `data.json` has it."""
    return {"path": path, "files": files, "read": read, "kept": kept, "left_out": left_out}


@dataclass
class FakeLoop:
    """Replaces `train`; `stops` lists how the calls end (the last entry is repeated)."""

    stops: list[Stopped] = field(default_factory=lambda: ["steps"])
    calls: list[tuple[int, bool, str]] = field(default_factory=list)

    def train(
        self,
        config: RunConfig,
        folder: RunFolder,
        reporter: Reporter,
        resume: bool,
        *,
        is_planned: bool = False,
        world: World = ALONE,
    ) -> Outcome:
        """Write what a loop would write."""
        assert not is_planned
        assert world is ALONE
        stopped = self.stops.pop(0) if len(self.stops) > 1 else self.stops[0]
        self.calls.append((config.training.seed, resume, folder.path.name))
        folder.write_data([corpus_record("data.train.0", {"a|b.en": "ab12"}, 1013, 997, {"empty": 16})], {"pieces": 89})
        reporter.begin(config.training.steps)
        reporter.log(5, {"loss": 0.5})
        score = KeptScore("BLEU", 30.0 + config.training.seed, SIGNATURE)
        return Outcome(config.training.steps or 7, 3725.0, stopped, {"bleu": score}, 5)


def put_in_place(monkeypatch: pytest.MonkeyPatch, loop: FakeLoop) -> FakeLoop:
    """Replace the loop that `launch` imports."""
    module = ModuleType("clearhead.training.loop")
    module.train = loop.train  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "clearhead.training.loop", module)
    return loop

"""What benchmarks/mutants.py writes: a record of mutants with their verdicts, its table, and a comparison of two."""

import json
import os
import platform
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from code_changes import Change

_PACKAGES = ("pytest", "coverage", "numpy", "torch")


@dataclass(frozen=True)
class Mutant:
    """A change, the part of the package that it was chosen for, and what became of it."""

    part: str
    change: Change
    verdict: str = ""  # killed, timeout, survived, doubtful (the test fails without the mutant too), not covered, gone
    test: str = ""  # that killed it
    seconds: float = 0.0
    tests_run: tuple[str, ...] = ()

    @property
    def is_killed(self) -> bool:
        """Whether a test noticed it, or did not end."""
        return self.verdict in ("killed", "timeout")


@dataclass(frozen=True)
class Record:
    """The mutants of a commit, and where they were run."""

    commit: str
    code: str  # what git calls the contents of src and tests
    seed: int
    machine: str
    mutants: tuple[Mutant, ...]

    @classmethod
    def read(cls, path: Path) -> "Record":
        """Read a record."""
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        mutants = [
            Mutant(**{**mutant, "change": Change(**mutant["change"]), "tests_run": tuple(mutant["tests_run"])})
            for mutant in data["mutants"]
        ]
        return cls(**{**data, "mutants": tuple(mutants)})

    def write(self, path: Path) -> None:
        """Write the record; a reader never sees a part of it."""
        part = path.with_name(f"{path.name}.part")
        part.write_text(json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        part.replace(path)


def describe_machine() -> str:
    """Return the processor and the versions."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    versions = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return (
        f"{(names or [platform.machine()])[0]}, {os.cpu_count()} cores; Python {platform.python_version()}, {versions}"
    )


def table(record: Record) -> str:
    """Return every mutant with its verdict, and the shares of the parts, in Markdown."""
    rows = ["| # | part | line | change | verdict |", "|--:|---|---|---|---|"]
    for number, mutant in enumerate(record.mutants, 1):
        change = mutant.change
        verdict = f"{mutant.verdict} by `{_short(mutant.test)}`" if mutant.test else mutant.verdict
        rows.append(f"| {number} | {mutant.part} | `{change.file}:{change.row}` | {_code(_diff(change))} | {verdict} |")
    rows += ["", "| part | mutants | killed | survived | not covered | share |", "|---|--:|--:|--:|--:|--:|"]
    for part, mutants in [*_by_part(record.mutants).items(), ("all", list(record.mutants))]:
        verdicts = Counter(mutant.verdict for mutant in mutants)
        counts = f"{_killed(mutants)} | {verdicts['survived'] + verdicts['doubtful']} | {verdicts['not covered']}"
        rows.append(f"| {part} | {len(mutants)} | {counts} | {_share(mutants)} |")
    return "\n".join([_heading(record), "", *rows])


def comparison(before: Record, after: Record) -> str:
    """Return the shares of two versions side by side, and the mutants that were killed and now are not, in Markdown."""
    rows = [f"Before: {_heading(before)}", "", f"After: {_heading(after)}", ""]
    rows += ["| part | killed before | share | killed after | share | gone |", "|---|--:|--:|--:|--:|--:|"]
    parts = _by_part(after.mutants) | {"all": list(after.mutants)}
    for part, old in [*_by_part(before.mutants).items(), ("all", list(before.mutants))]:
        new = [mutant for mutant in parts[part] if mutant.verdict != "gone"]
        shares = f"{_killed(old)} of {len(old)} | {_share(old)} | {_killed(new)} of {len(new)} | {_share(new)}"
        rows.append(f"| {part} | {shares} | {len(old) - len(new)} |")
    rows += ["", "Killed before, and not now:", ""]
    for number, (old_mutant, mutant) in enumerate(zip(before.mutants, after.mutants, strict=True), 1):
        if old_mutant.is_killed and not mutant.is_killed and mutant.verdict != "gone":
            place = f"`{mutant.change.file}:{mutant.change.row}`"
            was = f"was killed by `{old_mutant.test}`"
            rows.append(f"- {number}, {place}: {mutant.verdict}, {was}: {_code(_diff(mutant.change))}")
    gone = [str(number) for number, mutant in enumerate(after.mutants, 1) if mutant.verdict == "gone"]
    return "\n".join([*rows, "", f"Gone: {', '.join(gone) or 'none'}."])


def _heading(record: Record) -> str:
    return f"Commit {record.commit[:8]}, seed {record.seed}. {record.machine}."


def _by_part(mutants: Sequence[Mutant]) -> dict[str, list[Mutant]]:
    parts: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        parts.setdefault(mutant.part, []).append(mutant)
    return parts


def _killed(mutants: Sequence[Mutant]) -> int:
    return sum(mutant.is_killed for mutant in mutants)


def _share(mutants: Sequence[Mutant]) -> str:
    return f"{_killed(mutants) / len(mutants):.0%}" if mutants else "–"


def _short(test: str) -> str:
    return test.removeprefix("tests/").partition("[")[0]


def _diff(change: Change) -> str:
    """Return the line with what goes and what comes, as `git diff --word-diff` shows it."""
    head, tail = change.line[: change.start], change.line[change.start + len(change.old) :]
    return f"{head}[-{change.old}-]{{+{change.new}+}}{tail}"


def _code(text: str) -> str:
    """Return a line as code for a cell of a table."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}".replace("|", "\\|")

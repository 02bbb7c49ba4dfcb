"""What a student has practised, in a file that the student owns: plain JSON, written completely or not at all.

The rule for repetition is that of a card box. Every kind and difficulty has a box from 0 to 5. An exercise without an
error and without help moves it to the next box; any other exercise moves it to box 0. A kind in box b comes again after
2^b other exercises.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from clearhead.errors import CheckpointError, QuizError, printable
from clearhead.files.json_file import json_bytes, read_json
from clearhead.files.lock import lock_file
from clearhead.files.writing import write_file

FORMAT = 1  # of the file; increased when an old version would misread a new file
_KEY = "clearhead_practice"
_LAST_BOX = 5
_MAX_SLIPS = 20  # different slips that are remembered for a kind


@dataclass(frozen=True)
class PractisedKind:
    """One kind in one difficulty: its box, when it is due, the last sheet, and what went wrong how often.

    `due` and the number of finished exercises count in exercises.
    """

    box: int = 0
    due: int = 0
    seed: int = 0
    variant: int = 0
    num_right: int = 0
    num_wrong: int = 0
    slips: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class OpenSheet:
    """A sheet that is not finished: its number, the lines so far by the name of their step, and what went wrong."""

    number: str
    lines: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    errors: tuple[str, ...] = ()  # names of steps that were left with an error
    slips: tuple[str, ...] = ()
    is_helped: bool = False
    typed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # rows of the step that is being typed


@dataclass(frozen=True)
class PracticeProgress:
    """Everything in the file. Kinds and open sheets have the key `self-attention 1`: kind and difficulty."""

    num_finished: int = 0
    kinds: Mapping[str, PractisedKind] = field(default_factory=dict)
    open_sheets: Mapping[str, OpenSheet] = field(default_factory=dict)
    latest: str = ""  # the key of the sheet that was worked on last

    def with_open(self, key: str, sheet: OpenSheet) -> "PracticeProgress":
        """Return the progress with an unfinished sheet."""
        return replace(self, open_sheets={**self.open_sheets, key: sheet}, latest=key)

    def with_drawn(self, key: str, seed: int, variant: int) -> "PracticeProgress":
        """Return the progress with the last sheet that was drawn of a kind."""
        entry = replace(self.kinds.get(key, PractisedKind()), seed=seed, variant=variant)
        return replace(self, kinds={**self.kinds, key: entry})

    def with_finished(self, key: str, *, is_right: bool, slips: Sequence[str] = ()) -> "PracticeProgress":
        """Return the progress after an exercise: the kind is due again after 2^box other exercises."""
        old, number = self.kinds.get(key, PractisedKind()), self.num_finished + 1
        box = min(old.box + 1, _LAST_BOX) if is_right else 0
        counts = dict(old.slips)
        for slip in slips:
            counts[slip] = counts.get(slip, 0) + 1
        frequent = sorted(counts.items(), key=lambda entry: -entry[1])[:_MAX_SLIPS]
        entry = replace(
            old,
            box=box,
            due=number + 2**box,
            num_right=old.num_right + is_right,
            num_wrong=old.num_wrong + (not is_right),
            slips=dict(frequent),
        )
        others = {name: sheet for name, sheet in self.open_sheets.items() if name != key}
        return replace(self, num_finished=number, kinds={**self.kinds, key: entry}, open_sheets=others, latest="")

    def next_key(self, keys: Sequence[str]) -> str:
        """Return what to practise next: the unfinished sheet, what is due for the longest time, or something new."""
        if self.latest in keys and self.latest in self.open_sheets:
            return self.latest
        practised = [key for key in keys if key in self.kinds and self.kinds[key].due > 0]
        practised.sort(key=lambda key: (self.kinds[key].due, self.kinds[key].box))
        if practised and self.kinds[practised[0]].due <= self.num_finished:
            return practised[0]
        return next((key for key in keys if key not in practised), practised[0] if practised else keys[0])


def default_progress_file() -> Path:
    """Return the file of this user's progress, in the system's folder for the data of programs."""
    chosen = Path(os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_DATA_HOME", ""))
    if chosen.is_absolute():
        return chosen / "clearhead" / "practice.json"
    folder = {"win32": "AppData/Local", "darwin": "Library/Application Support"}.get(sys.platform, ".local/share")
    try:
        return Path.home() / folder / "clearhead" / "practice.json"
    except RuntimeError:
        raise QuizError("this user has no home folder. Name a file for the progress.", options=("progress",)) from None


def load_progress(path: Path) -> PracticeProgress:
    """Return the progress in a file, or an empty one if there is no such file; the file is not changed."""
    if not path.exists():
        return PracticeProgress()
    shown = printable(str(path))
    try:
        data = read_json(path)
    except CheckpointError as problem:
        raise _damaged(f"{str(problem).removesuffix('.')}") from None
    if _KEY not in data:
        raise _damaged(f"{shown} is not a file of clearhead practise")
    if data[_KEY] != FORMAT:
        raise QuizError(
            f"{shown} has version {data[_KEY]!r:.40} of the progress file, and this version of clearhead reads version "
            f"{FORMAT}. The file was not changed. Update clearhead, or name another file.",
            options=("progress",),
        )
    try:
        return _from_data(data)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _damaged(f"{shown} is damaged: its entries are not those of a progress file") from None


def save_progress(path: Path, progress: PracticeProgress) -> None:
    """Write the progress; an interruption leaves the old file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise QuizError(
            f"the folder {printable(str(path.parent))} cannot be created: {problem.strerror}. Name another file.",
            options=("progress",),
        ) from None
    write_file(path, json_bytes(_to_data(progress)))


def forget_progress(path: Path) -> str:
    """Delete the progress, and return a sentence that says so; a file of another kind is not deleted."""
    shown = printable(str(path))
    if not path.exists():
        return f"There is no progress in {shown}."
    load_progress(path)
    try:
        path.unlink()
        _lock_path(path).unlink(missing_ok=True)
    except OSError as problem:
        raise QuizError(f"{shown} cannot be deleted: {problem.strerror}.") from None
    return f"Deleted {shown}."


@contextmanager
def locked_progress(path: Path) -> Iterator[None]:
    """Make sure that only one session uses a progress file, so that none overwrites what another has saved."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(_lock_path(path), os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as problem:
        raise QuizError(
            f"{printable(str(path))} cannot be written: {problem.strerror}. Name another file for the progress.",
            options=("progress",),
        ) from None
    try:
        if not lock_file(handle):
            raise QuizError(
                f"another session is using {printable(str(path))}. End it first, or name another file.",
                options=("progress",),
            )
        yield
    finally:
        os.close(handle)


def _lock_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def _damaged(fact: str) -> QuizError:
    return QuizError(
        f"{fact}. The file was not changed. Name another file, or move this one away.", options=("progress",)
    )


def _to_data(progress: PracticeProgress) -> dict[str, Any]:
    return {
        _KEY: FORMAT,
        "finished": progress.num_finished,
        "latest": progress.latest,
        "kinds": {
            key: {
                "box": kind.box,
                "due": kind.due,
                "seed": kind.seed,
                "variant": kind.variant,
                "right": kind.num_right,
                "wrong": kind.num_wrong,
                "slips": dict(kind.slips),
            }
            for key, kind in progress.kinds.items()
        },
        "open": {
            key: {
                "sheet": sheet.number,
                "lines": {name: [list(row) for row in cells] for name, cells in sheet.lines.items()},
                "errors": list(sheet.errors),
                "slips": list(sheet.slips),
                "helped": sheet.is_helped,
                "typed": {row: list(cells) for row, cells in sheet.typed.items()},
            }
            for key, sheet in progress.open_sheets.items()
        },
    }


def _from_data(data: Mapping[str, Any]) -> PracticeProgress:
    kinds = {
        str(key): PractisedKind(
            box=min(_count(kind["box"]), _LAST_BOX),
            due=_count(kind["due"]),
            seed=_count(kind["seed"]),
            variant=_count(kind["variant"]),
            num_right=_count(kind["right"]),
            num_wrong=_count(kind["wrong"]),
            slips={str(slip): _count(number) for slip, number in kind["slips"].items()},
        )
        for key, kind in data["kinds"].items()
    }
    open_sheets = {
        str(key): OpenSheet(
            number=_text(sheet["sheet"]),
            lines={
                str(name): tuple(tuple(_text(cell) for cell in row) for row in cells)
                for name, cells in sheet["lines"].items()
            },
            errors=tuple(_text(name) for name in sheet["errors"]),
            slips=tuple(_text(slip) for slip in sheet["slips"]),
            is_helped=bool(sheet["helped"]),
            typed={str(row): tuple(_text(cell) for cell in cells) for row, cells in sheet["typed"].items()},
        )
        for key, sheet in data["open"].items()
    }
    return PracticeProgress(_count(data["finished"]), kinds, open_sheets, _text(data["latest"]))


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value

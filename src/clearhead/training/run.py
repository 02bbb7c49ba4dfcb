"""The run folder: the inputs of a run (config, environment, data), its results, and a lock during training.

config.yaml        every setting, as it was read     metrics.jsonl   a line for each log line
SHA256SUMS         the hash of config.yaml           (other folders have a SHA256SUMS of their own)
environment.json   versions, commit, hardware        curves/         the same for TensorBoard
data.json          hashes and counts of the data     checkpoints/    to resume from
tokeniser/         the vocabularies                  best/, last/    models to use
outcome.json       how the run ended                 README.md       the model card
plan.yaml, text/   of a planned run: its config with reasons, and its text in three parts
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import yaml

from clearhead.errors import CheckpointError, RunError, printable
from clearhead.files.json_file import json_bytes, parse_object
from clearhead.files.lock import LOCK, FolderInUseError, FolderLock
from clearhead.files.manifest import MANIFEST, verify_if_listed
from clearhead.files.writing import bytes_writer, replace_file, write_together
from clearhead.text.tokeniser import FOLDER as TOKENISER
from clearhead.training.config import RunConfig, load_run_config
from clearhead.training.environment import describe_environment
from clearhead.training.metrics import metrics_line, metrics_lines
from clearhead.training.outcome import WORDS, Outcome

CONFIG, ENVIRONMENT, DATA, METRICS = "config.yaml", "environment.json", "data.json", "metrics.jsonl"
STORES = "data"  # the folder of the pairs as ids
OUTCOME, CARD = "outcome.json", "README.md"
PLAN, TEXTS = "plan.yaml", "text"  # of a planned run
_PLANNING = "planning"  # marks a folder whose plan is not complete, so that it holds no run yet


class RunFolder:
    """A run on disk. Open it with `create` or `reopen` in a `with` statement, which releases the lock at the end."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()
        self._lock = FolderLock(self.path)

    @classmethod
    def create(cls, path: str | Path, config: RunConfig) -> Self:
        """Create the folder of a new run and lock it. Raise RunError if the folder contains files.

        A run that stopped before its first update (because of an error in its data, for example) is replaced.
        """
        folder = cls._create_empty(path)
        with folder.closed_after_an_error():
            folder.begin(config)
        return folder

    @classmethod
    def create_for_plan(cls, path: str | Path) -> Self:
        """Create the folder of a run that will be planned in it, and lock it. `begin` ends the planning."""
        folder = cls._create_empty(path)
        with folder.closed_after_an_error():
            folder.write(_PLANNING, b"")
            (folder.path / TEXTS).mkdir(exist_ok=True)
        return folder

    @classmethod
    def _create_empty(cls, path: str | Path) -> Self:
        folder = cls(path)
        folder._refuse_what_is_there()  # before a lock file is written into an unrelated folder
        folder._take()
        with folder.closed_after_an_error():
            folder._refuse_what_is_there()  # another process may have started a run since
            folder._remove_preparations()
        return folder

    @contextmanager
    def closed_after_an_error(self) -> Iterator[None]:
        """Release the lock if the folder cannot be opened completely."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def begin(self, config: RunConfig) -> None:
        """Write the config, which makes this folder a run, and the environment."""
        self.write_config(config)  # first, because it marks the folder as a run
        self.write_environment(config.training.seed)
        (self.path / _PLANNING).unlink(missing_ok=True)

    @classmethod
    def reopen(cls, path: str | Path) -> Self:
        """Lock the folder of an existing run in order to resume it."""
        folder = cls(path)
        shown = printable(str(folder.path))
        if not folder.holds_a_run:
            there = "contains no run" if folder.path.is_dir() else "does not exist"
            raise RunError(
                f"{shown} {there}, so there is nothing to resume. To start a new run, do not resume.",
            )
        folder._take()
        return folder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the lock."""
        self._lock.release()

    @property
    def holds_a_run(self) -> bool:
        """Whether a run was started here."""
        return (self.path / CONFIG).is_file()

    @property
    def was_only_prepared(self) -> bool:
        """Whether a run was started here that has no results yet."""
        results = (self.metrics, self.checkpoints, self.path / OUTCOME, self.best, self.last)
        is_started = self.holds_a_run or (self.path / _PLANNING).is_file()
        return is_started and not any(path.exists() for path in results)

    def _remove_preparations(self) -> None:
        if self.was_only_prepared:
            for name in (STORES, TOKENISER, TEXTS):
                shutil.rmtree(self.path / name, ignore_errors=True)
            for name in (MANIFEST, DATA, ENVIRONMENT, PLAN, CONFIG, _PLANNING):
                (self.path / name).unlink(missing_ok=True)

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints to resume from."""
        return self.path / "checkpoints"

    @property
    def best(self) -> Path:
        """The model with the best validation score."""
        return self.path / "best"

    @property
    def last(self) -> Path:
        """The model at the end of the run."""
        return self.path / "last"

    @property
    def metrics(self) -> Path:
        """The file of metrics, one JSON object per line."""
        return self.path / METRICS

    @property
    def curves(self) -> Path:
        """The folder that TensorBoard reads."""
        return self.path / "curves"

    def read_config(self, changes: Sequence[str] = (), *, change_label: str = "change") -> RunConfig:
        """Return the config of the run, with changes. Its data files are not checked: they may no longer exist."""
        self._verify_config()
        return load_run_config(self.path / CONFIG, changes, check_files=False, change_label=change_label)

    def _verify_config(self) -> None:
        """Refuse an edited config: resuming would continue with settings that the run was not started with."""
        advice = (
            "It is the config that the run was started with: restore it. To change a setting, give the change when you "
            "resume."
        )
        try:
            verify_if_listed(self.path, (CONFIG,), advice)
        except CheckpointError as wrong:
            raise RunError(str(wrong), options=("changes",)) from None

    def write_config(self, config: RunConfig) -> None:
        """Write every setting."""
        text = yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=120)
        content = f"# Every setting of this run, as it was read.\n{text}".encode()
        try:
            write_together(self.path, {CONFIG: bytes_writer(content)}, has_manifest=True)
        except CheckpointError as wrong:
            raise RunError(str(wrong)) from None

    def write_environment(self, seed: int) -> None:
        """Add this process to the list of processes that worked on the run."""
        self.write_json(ENVIRONMENT, {"sessions": [*self._read_sessions(), describe_environment(seed)]})

    def read_environment(self) -> dict[str, Any]:
        """Return the environment of the last process that worked on the run."""
        sessions = self._read_sessions()
        return sessions[-1] if sessions else {}

    def _read_sessions(self) -> list[dict[str, Any]]:
        """Return the description of every process that worked on the run."""
        if not (self.path / ENVIRONMENT).is_file():
            return []
        sessions = self._read_json(ENVIRONMENT).get("sessions")
        if not isinstance(sessions, list) or not all(isinstance(session, dict) for session in sessions):
            raise RunError(
                f"{printable(str(self.path / ENVIRONMENT))} does not describe the processes of a run. "
                "Remove it, or restore it from a copy."
            )
        return sessions

    def write_data(
        self,
        corpora: Sequence[Mapping[str, Any]],
        tokeniser: Mapping[str, str | int],
        coverage: Mapping[str, str] | None = None,
    ) -> None:
        """Write the hashes and counts of the data, the description of the tokeniser, and how much text it covers."""
        data = {"corpora": list(corpora), "tokeniser": dict(tokeniser)}
        self.write_json(DATA, {**data, "coverage": dict(coverage)} if coverage else data)

    def read_data(self) -> dict[str, Any]:
        """Return what `write_data` wrote, or an empty dict if the data has not been read yet."""
        if not (self.path / DATA).is_file():
            return {}
        data = self._read_json(DATA)
        tokeniser = data.get("tokeniser")
        if not isinstance(tokeniser, dict) or not isinstance(tokeniser.get("pairs", ""), str):
            raise RunError(
                f"{printable(str(self.path / DATA))} does not describe the data of a run. Restore it from a copy, or "
                "remove it; then a resumed run cannot check that its data is unchanged."
            )
        return data

    def write_outcome(self, outcome: Outcome) -> None:
        """Write how the run ended."""
        self.write_json(OUTCOME, outcome.to_data())

    def read_outcome(self) -> Outcome | None:
        """Return how the run ended, or None if it has not ended."""
        if not (self.path / OUTCOME).is_file():
            return None
        try:
            return Outcome.from_data(self._read_json(OUTCOME))
        except (KeyError, TypeError, AttributeError, ValueError):
            raise RunError(
                f"{printable(str(self.path / OUTCOME))} does not describe how a run ended. Remove it."
            ) from None

    def forget_outcome(self) -> None:
        """Remove the outcome of an earlier process, because the run is being resumed."""
        (self.path / OUTCOME).unlink(missing_ok=True)

    def truncate_metrics(self, step: int) -> int:
        """Drop the metrics after a step, which will be computed again, and lines that cannot be read.

        Return the number of damaged lines. An incomplete last line is not one: its process was killed.
        """
        if not self.metrics.is_file() and not self.metrics.is_symlink():  # a link would be followed on adding a line
            return 0
        *complete, _ = self._metrics_text().split("\n")
        num_damaged = sum(metrics_line(line) is None for line in complete)
        lines = [line for line in self.read_metrics() if line["step"] <= step]
        self.write(METRICS, "".join(json.dumps(line) + "\n" for line in lines).encode())
        return num_damaged

    def read_metrics(self) -> list[dict[str, Any]]:
        """Return the complete lines of metrics.jsonl."""
        return metrics_lines(self._metrics_text())

    def _metrics_text(self) -> str:
        return self.metrics.read_text(encoding="utf-8", errors="replace") if self.metrics.is_file() else ""

    def write_json(self, name: str, data: Mapping[str, Any]) -> None:
        """Write a JSON file atomically."""
        self.write(name, json_bytes(data))

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically."""
        try:
            replace_file(self.path / name, content)
        except OSError as wrong:
            raise RunError(
                f"{printable(str(self.path / name))} cannot be written: {wrong.strerror}. "
                "Choose a writable folder on a disk with free space."
            ) from None

    def _take(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock.take()
        except FolderInUseError as holder:
            raise RunError(
                f"{printable(str(self.path))} is in use: {holder} is training there. "
                "Wait for it, stop it, or choose another folder.",
                options=("run",),
            ) from None
        except (OSError, ValueError) as wrong:  # ValueError: a NUL in the name
            reason = wrong.strerror if isinstance(wrong, OSError) else wrong
            raise RunError(
                f"{printable(str(self.path))} cannot be used as a run folder: {reason}. Choose another.",
                options=("run",),
            ) from None

    def _refuse_what_is_there(self) -> None:
        shown = printable(str(self.path))
        if self.path.exists() and not self.path.is_dir():
            raise RunError(f"{shown} is a file. Choose another folder for the run.", options=("run",))
        if self.was_only_prepared:
            return
        if self.holds_a_run:
            raise _taken(shown, self.read_outcome())
        others = sorted(entry.name for entry in self.path.iterdir()) if self.path.is_dir() else []
        others = [name for name in others if name != LOCK and not (name.startswith(".") and name.endswith(".part"))]
        if others:
            named = ", ".join(printable(name) for name in others[:3]) + (" …" if len(others) > 3 else "")
            raise RunError(
                f"{shown} contains other files ({named}). Choose an empty or a new folder.", options=("run",)
            )

    def _read_json(self, name: str) -> dict[str, Any]:
        shown = printable(str(self.path / name))
        try:
            return parse_object((self.path / name).read_bytes())
        except (OSError, ValueError) as wrong:
            raise RunError(f"{shown} cannot be read: {wrong}. Remove it, or restore it from a copy.") from None
        except TypeError:
            raise RunError(
                f"{shown} does not contain a JSON object, {{…}}. Remove it, or restore it from a copy."
            ) from None


def _state(outcome: Outcome | None) -> str:
    if outcome is None:
        return "not finished: it ended without an outcome"
    word = "finished" if outcome.is_finished else "not finished"
    return f"{word} after {outcome.steps:,} updates: {WORDS[outcome.stopped]}"


def _taken(shown: str, outcome: Outcome | None) -> RunError:
    """Return the error for a folder that already contains a run, with the advice how to resume that run."""
    change = outcome.longer if outcome is not None and outcome.is_finished else ""
    advice = f"resume it with {change} to train it for longer" if change else "resume it"
    return RunError(
        f"{shown} already contains a run ({_state(outcome)}), which is not overwritten. Choose another folder, "
        f"or {advice}.",
        options={"resume": "", "run": shown, **({"changes": change} if change else {})},
    )

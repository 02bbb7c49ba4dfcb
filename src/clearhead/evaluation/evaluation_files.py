"""Evaluate files: read translations, references, sources and training text, then score them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clearhead.errors import ConfigError, DataError, printable
from clearhead.evaluation.leaks import TrainingPair
from clearhead.evaluation.report import EvaluationReport, EvaluationRequest, HeldOut, evaluate
from clearhead.files.line_input import STANDARD_INPUT, whole_input
from clearhead.files.lines import Fault
from clearhead.files.pair_reader import read_aligned, read_fields


@dataclass(frozen=True)
class EvaluationFiles:
    """The files of an evaluation, one sentence per line; `-` is standard input.

    A system can have several outputs, from several seeds; training text can have a source side, a target side or both.
    """

    systems: Mapping[str, Sequence[str]]
    references: Sequence[str]
    source: str | None = None
    train_sources: Sequence[str] = ()
    train_targets: Sequence[str] = ()


@dataclass(frozen=True)
class FileEvaluation:
    """A report, and the number of lines of each training file that were skipped because they are not UTF-8.

    `notes` are sentences about texts that are identical.
    """

    report: EvaluationReport
    num_skipped_lines: Mapping[str, int]
    notes: Sequence[str] = ()


def evaluate_files(files: EvaluationFiles, request: EvaluationRequest) -> FileEvaluation:
    """Read the files and score the systems; the first is the baseline of the tests."""
    training = _TrainingFiles(files.train_sources, files.train_targets)
    optional_source = [] if files.source is None else [files.source]
    names = [name for outputs in files.systems.values() for name in outputs] + [*files.references, *optional_source]
    if names.count(STANDARD_INPUT) > 1:
        raise ConfigError("standard input can only be read once. Give files for all but one of the texts.")
    held_out = HeldOut(
        [whole_input(name) for name in files.references],
        None if files.source is None else whole_input(files.source),
        training if files.train_sources or files.train_targets else None,
    )
    systems = {name: [whole_input(file) for file in outputs] for name, outputs in files.systems.items()}
    report = evaluate(systems, held_out, request)
    return FileEvaluation(report, training.num_skipped_lines, list(_identical_texts(files, systems, held_out)))


def _identical_texts(
    files: EvaluationFiles, systems: Mapping[str, Sequence[Sequence[str]]], held_out: HeldOut
) -> Iterator[str]:
    """Yield a sentence for each output of a system that is the same text as a reference or the source."""
    others = [("the reference", name, lines) for name, lines in zip(files.references, held_out.references, strict=True)]
    if files.source is not None and held_out.sources is not None:
        others.append(("the source", files.source, held_out.sources))
    for system, names in files.systems.items():
        for name, lines in zip(names, systems[system], strict=True):
            for kind, other, other_lines in others:
                if list(lines) == list(other_lines):
                    fact = (
                        f"{_shown(name)} is given as the translations and as {kind}"
                        if name == other
                        else f"the translations in {_shown(name)} are identical to {kind} in {_shown(other)}"
                    )
                    yield f"{fact}. Check that these are the right files."


def _shown(name: str) -> str:
    return "standard input" if name == STANDARD_INPUT else printable(name)


class _TrainingFiles:
    """The pairs of the training files, line by line; lines that are not UTF-8 are counted and skipped."""

    def __init__(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        if sources and targets and len(sources) != len(targets):
            raise ConfigError(
                f"the training text has {len(sources)} source files and {len(targets)} target files. "
                "Give both files of each corpus, in the same order.",
                options=("train_source", "train_target"),
            )
        self.sources, self.targets = sources, targets
        self.num_skipped_lines: dict[str, int] = {}

    def __iter__(self) -> Iterator[TrainingPair]:
        has_both = bool(self.sources and self.targets)
        for index, name in enumerate(self.sources or self.targets):
            lines = read_aligned(name, self.targets[index]) if has_both else read_fields(name, "text", ["text"])
            for line in lines:
                if not isinstance(line, Fault):
                    one_side = TrainingPair(source=line.target) if self.sources else TrainingPair(target=line.target)
                    yield TrainingPair(line.source, line.target) if has_both else one_side
                elif line.is_fatal:
                    raise DataError(str(line))
                else:
                    self.num_skipped_lines[line.file] = self.num_skipped_lines.get(line.file, 0) + 1

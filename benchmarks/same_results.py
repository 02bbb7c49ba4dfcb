"""Do two versions of clearhead give the same results? Losses, weights, translations, scores and sheets at fixed seeds.

A refactoring must not change a number, and loses no sentence unnoticed. Record each version, then compare:

    python benchmarks/same_results.py record OLD_CHECKOUT old.json
    python benchmarks/same_results.py record NEW_CHECKOUT new.json
    python benchmarks/same_results.py compare old.json new.json

The calls of same_calls.txt run with the command line of the checkout, one after the other, in other processes (one for
a training, otherwise one for a phase) with one thread. A call that a version cannot spell is left out of its record.
`--studies` also runs the studies that take minutes. `sentences` in place of `record` writes the sentences of every
error, report and help, for `compare` too. Needs the extra dev; three minutes of one core.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from difflib import get_close_matches, unified_diff
from pathlib import Path
from time import perf_counter
from typing import Any

from same_calls import Surface, sections
from same_sentences import sentences_of
from same_values import run_values, value_of, value_of_file

PLACEHOLDER = re.compile(r"\{(\w+)\}")
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "COLUMNS": "80", "TERM": "dumb"}


class Version:
    """A checkout whose command line is called."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.checkout, self.folder = checkout.resolve(), folder
        self.surface = Surface(self.checkout)
        self.child: subprocess.Popen[str] | None = None
        self.environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(self.checkout / "src")}
        for name, text in sections().items():
            if name.startswith("file "):
                (folder / name.removeprefix("file ")).write_text(text, encoding="utf-8")
        for name, place in (("examples", "examples"), ("configs", "configs"), ("golden", "tests/golden")):
            (folder / name).symlink_to(self.checkout / place)

    def call(self, words: list[str]) -> tuple[int, str, str]:
        """Run a verb; return its exit code, its output and its errors. A training has a process of its own."""
        if words[0] == "train" or self.child is None or self.child.poll() is not None:
            self.end()
            command = [sys.executable, str(Path(__file__).with_name("same_child.py"))]
            self.child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self.environment,
                cwd=self.folder,
                text=True,
            )
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        print(json.dumps(words), file=self.child.stdin, flush=True)
        answer = self.child.stdout.readline()
        code, output, errors = json.loads(answer) if answer else (-1, "", "the process ended")
        return code, output, errors

    def end(self) -> None:
        """End the process that runs calls."""
        if self.child is not None:
            self.child.communicate()
            self.child = None

    def listed(self, verb: str) -> list[str]:
        """Return the names that a verb lists: the first word of every line that is not a continuation or a head."""
        words = self.surface.spell(f"{verb} --list")
        lines = self.call(words)[1].splitlines() if words else []
        return [line.split()[0] for line in lines if line[:1].strip() and not re.match(r"(id|name)\s{2}", line)]

    def placeholders(self) -> dict[str, list[str]]:
        """Return the values of the names in braces."""
        examples = sorted((self.checkout / "examples").glob("*.*"))
        numbers = json.loads((self.checkout / "tests" / "golden" / "quiz_sheets_v1.json").read_text(encoding="utf-8"))
        pages = sorted((self.checkout / "examples" / "workings").glob("*.*"))
        return {
            "gallery": self.listed("solve"),
            "worked": self.listed("check"),
            "kind": self.listed("quiz"),
            "example": [f"examples/{path.name}" for path in examples],
            "page": [path.name for path in pages if path.name != "scheme.yaml"],
            "number": [number for number in numbers if re.search(r"-\d-7-", number)],
            "engine": ["torch", "ctranslate2", "numpy"],
            "run": ["copier", "two", "gru", "filters"],
            "folder": ["run", "ctranslate2", "marian"],
        }

    def results(self, phase: str, placeholders: dict[str, list[str]]) -> Iterator[tuple[str, Any]]:
        """Yield the results of a phase, by name."""
        for line in phase.splitlines():
            name = PLACEHOLDER.search(line)
            for value in placeholders[name[1]] if name else [""]:
                yield from self._results_of_call(PLACEHOLDER.sub(value, line))

    def _results_of_call(self, line: str) -> Iterator[tuple[str, Any]]:
        call, _, files = line.partition(" > ")
        words = self.surface.spell(call)
        if words is None:
            print(f"not in this version: {call}")
            return
        code, output, errors = self.call(words)
        if code not in (0, 1):
            print(f"exit code {code}: {call}: {errors.strip()[-300:]}")
        yield call, [code, value_of(output)]
        for file in files.split():
            yield f"{call} > {file}", value_of_file(self.folder / file)
        run = re.search(r"^train .*--run (\w+)(?!.*--seeds)", call)
        if run and (self.folder / run[1] / "best").exists():
            yield from ((f"{call}: {name}", value) for name, value in run_values(self.folder / run[1]))


def record(checkout: Path, output: Path, has_studies: bool) -> None:
    """Write the results of a checkout, and print which share of its command line was called."""
    phases = {name: text for name, text in sections().items() if name != "spellings" and not name.startswith("file ")}
    if not has_studies:
        del phases["studies"]
    values: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        version = Version(checkout, Path(folder))
        placeholders = version.placeholders()
        for name, phase in phases.items():
            start, before = perf_counter(), len(values)
            values.update(version.results(phase, placeholders))
            version.end()
            print(f"{name}: {len(values) - before} results in {perf_counter() - start:.0f} s", flush=True)
    _write(values, output)
    print(f"{len(values)} results in {output}\n{version.surface.share()}")


def record_sentences(checkout: Path, output: Path) -> None:
    """Write every sentence in the source of a checkout, with the errors it is part of, and the help of every verb."""
    with tempfile.TemporaryDirectory() as folder:
        version = Version(checkout, Path(folder))
        helps = {f"help of {verb}": version.call([verb, "--help"])[1] for verb in sorted(version.surface.verbs)}
        version.end()
    sentences = sentences_of(checkout / "src")
    _write({**sentences, **helps}, output)
    print(f"{len(sentences)} sentences and {len(helps)} pages of help in {output}")


def _write(values: dict[str, Any], output: Path) -> None:
    output.write_text(json.dumps(values, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def compare(one: Path, other: Path) -> int:
    """Print the differences, and the nearest new sentence below a vanished one; return how many there are."""
    first, second = (json.loads(path.read_text(encoding="utf-8")) for path in (one, other))
    new_sentences = [name for name in second if name not in first and name.startswith("sentence: ")]
    names = sorted({*first, *second} - set(new_sentences))
    vanished = [name for name in names if name.startswith("sentence: ") and name not in second]
    for name in vanished:
        nearest = get_close_matches(name, new_sentences, n=1, cutoff=0.7)
        print("\n".join([f"{', '.join(first[name]) or 'a'} {name}", *(f"  now {text}" for text in nearest)]))
    others = [name for name in names if not name.startswith("sentence: ")]
    different = [name for name in others if first.get(name) != second.get(name)]
    for name in different:
        print("\n".join([name, *_difference(first.get(name), second.get(name))]))
    print(f"{len(names)} results, {len(vanished) + len(different)} different; {len(new_sentences)} new sentences")
    return len(vanished) + len(different)


def _difference(first: Any, second: Any) -> list[str]:
    """Return the first lines that differ."""
    lines = list(unified_diff(_lines(first), _lines(second), n=0, lineterm=""))
    return [f"  {line[:300]}" for line in lines[2:22] if not line.startswith("@@")]


def _lines(value: Any) -> list[str]:
    if value is None:
        return ["(not in this version)"]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    return text.replace("\\n", "\n").splitlines()


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["record", "sentences", "compare"])
    parser.add_argument("one", type=Path)
    parser.add_argument("other", type=Path)
    parser.add_argument("--studies", action="store_true")
    arguments = parser.parse_args()
    if arguments.task == "compare":
        sys.exit(min(1, compare(arguments.one, arguments.other)))
    if arguments.task == "sentences":
        record_sentences(arguments.one, arguments.other)
    else:
        record(arguments.one, arguments.other, arguments.studies)


if __name__ == "__main__":
    main()

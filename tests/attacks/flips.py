"""Flip single bits in every file of a folder, use the folder, and compare the result with that of the intact folder."""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from clearhead.formats.marian import import_marian
from tests.attacks.child import Ended, in_child
from tests.attacks.faults import FileOperations
from tests.attacks.jobs import (
    View,
    file_view,
    prepare_opus,
    prepare_training,
    prepare_translating,
    run_view,
    store,
    store_view,
    train,
    translate_with,
)
from tests.attacks.kills import difference, to_its_end
from tests.attacks.tally import Case, Verdict

_IGNORED = ("curves", "README.md")  # nothing reads them
_NUMBERS = re.compile(r"[0-9][0-9.,]*")
UNVERIFIED = "were not verified"


@dataclass(frozen=True)
class Target:
    """A folder whose files are damaged, and how it is used. People edit some of its files, so a change there counts."""

    name: str
    prepare: Callable[[Path], None]
    files: tuple[str, ...]
    use: Callable[[Path], None]
    view: Callable[[Path], View]
    edited: tuple[str, ...] = ()


def killed_at(run: Callable[[Path], None], folder: Path, operation: str) -> None:
    """Run a job and kill it at the last of the operations whose description contains a text."""
    copy = folder.with_name(folder.name + "-counted")
    shutil.copytree(folder, copy)

    def counted() -> list[str]:
        operations = FileOperations(copy)
        operations.install()
        to_its_end(run, copy)
        return operations.names

    names = in_child(counted).value
    shutil.rmtree(copy)
    at = max(number for number, name in enumerate(names, 1) if operation in name)

    def killed() -> None:
        FileOperations(folder, at).install()
        run(folder)

    in_child(killed)


def prepare_unfinished_run(folder: Path) -> None:
    """Train until the last checkpoint gets its name, which is one of three."""
    prepare_training(folder)
    killed_at(train, folder, "rename run/checkpoints/step-")


def prepare_unfinished_translation(folder: Path) -> None:
    """Translate until the last lines are written."""
    prepare_translating(folder)
    killed_at(translate_with("torch"), folder, "write out.txt.part")


def prepare_conversion(folder: Path) -> None:
    """Translate with CTranslate2, so that the conversion is in the cache."""
    prepare_translating(folder)
    in_child(lambda: translate_with("ctranslate2")(folder))
    (folder / "out.txt").unlink()


def prepare_imported(folder: Path) -> None:
    """Import an OPUS-MT model."""
    prepare_opus(folder)
    import_marian(folder / "opus", folder / "model")


def prepare_built_store(folder: Path) -> None:
    """Build a store."""
    prepare_training(folder)
    store(folder)


def use_store(folder: Path) -> None:
    """Open the store, or build it again if it is damaged."""
    print(store(folder).message)


TARGETS = (
    Target(
        "run folder, resumed", prepare_unfinished_run, ("run/**/*",), train, run_view,
        ("run/config.yaml", "run/metrics.jsonl"),
    ),
    Target("model folder, translating", prepare_translating, ("model/**/*",), translate_with("torch"), file_view("out.txt")),
    Target(
        "OPUS-MT folder without checksums, translating", prepare_opus, ("opus/*",), translate_with("torch", "opus"), file_view("out.txt"),
    ),
    Target("imported model, translating", prepare_imported, ("model/*",), translate_with("torch"), file_view("out.txt")),
    Target("token store, built again", prepare_built_store, ("store/*",), use_store, store_view),
    Target(
        "CTranslate2 conversion, translating", prepare_conversion, ("cache/**/*", "model/best/ctranslate2-*/*"),
        translate_with("ctranslate2"), file_view("out.txt"),
    ),
    Target(
        "unfinished translation, resumed", prepare_unfinished_translation, ("out.txt.part*",), translate_with("torch"),
        file_view("out.txt"),
    ),
)  # fmt: skip


def files_of(target: Target, folder: Path) -> list[str]:
    """Return the files of a folder that are read, as relative paths."""
    paths = {
        path for pattern in target.files for path in folder.glob(pattern) if path.is_file() and path.stat().st_size
    }
    names = sorted(path.relative_to(folder).as_posix() for path in paths)
    return [name for name in names if not any(part.startswith(".") or part in _IGNORED for part in Path(name).parts)]


def positions(size: int, count: int, random: Random) -> list[tuple[int, int]]:
    """Return bytes and bits to flip, spread over a file; the first is in the first few bytes."""
    places = [int((index + random.random()) * size / count) for index in range(count)]
    return [(min(place, size - 1), random.randrange(8)) for place in places]


def flip(path: Path, byte: int, bit: int) -> None:
    """Flip one bit of a file; its size and time stay the same."""
    status = path.stat()
    content = bytearray(path.read_bytes())
    content[byte] ^= 1 << bit
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def attack(target: Target, count: int, seed: int, num_files: int = 1000) -> Iterator[Case]:
    """Yield the outcome of `count` flips in each file, or in each of a random sample of the files."""
    random = Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        start, place = Path(folder) / "start", Path(folder) / "place"
        start.mkdir()
        target.prepare(start)
        shutil.copytree(start, place)
        reference = in_child(lambda: _used(target, place))
        if reference.code or reference.value is None:
            raise RuntimeError(f"{target.name}: the intact folder ended with {reference.code}: {reference.output}")
        shutil.rmtree(place)
        names = files_of(target, start)
        for name in random.sample(names, min(num_files, len(names))):
            for byte, bit in positions((start / name).stat().st_size, count, random):
                shutil.copytree(start, place)
                flip(place / name, byte, bit)
                ended = in_child(lambda: _used(target, place))
                shutil.rmtree(place)
                verdict, detail = judge(target, name, ended, reference)
                yield Case(target.name, f"bit {bit} of byte {byte} of {name}", verdict, detail)


def _used(target: Target, place: Path) -> View:
    to_its_end(target.use, place)
    return target.view(place)


def judge(target: Target, name: str, ended: Ended, reference: Ended) -> tuple[Verdict, str]:
    """Compare the use of a damaged folder with that of the intact one."""
    if ended.is_refusal:
        is_named = Path(name).name in ended.output or Path(name).parent.name in ended.output
        return "refused", ("" if is_named else "does not name the file: ") + ended.output
    if ended.code:
        return "crash", f"{ended.code}: {ended.output}"
    new = sorted(_lines(ended.output) - _lines(reference.output))
    if ended.value == reference.value:
        return ("note" if new else "identical"), "\n".join(new)
    if name in target.edited:
        return "edited", difference(ended.value, reference.value)
    verdict: Verdict = "unverified" if UNVERIFIED in ended.output else "wrong"
    return verdict, difference(ended.value, reference.value)


def _lines(output: str) -> set[str]:
    return {_NUMBERS.sub("#", line).strip() for line in output.splitlines()}

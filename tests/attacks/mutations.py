"""Mutate valid inputs and read them: each is read, or refused with a sentence, and never takes long.

The mutator is seeded, so that every case can be repeated. What it found is kept in `tests/attacks/cases`.
"""

import json
import shutil
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import yaml

from clearhead.check import check
from clearhead.check.scheme_file import load_scheme
from clearhead.data.config import CorpusConfig, DataConfig
from clearhead.data.corpora import read_texts
from clearhead.errors import ClearheadError
from clearhead.files.line_input import LineSource
from clearhead.files.line_output import LineOutput
from clearhead.formats.model_folder import find_model, load_config, load_vocabularies
from clearhead.training.config import load_run_config
from clearhead.training.run import RunFolder
from clearhead.worksheet import solve
from clearhead.worksheet.part import load_sheet
from clearhead.worksheet.reading import gallery
from tests.attacks.child import in_child
from tests.attacks.jobs import ROOT, prepare_opus, prepare_training, prepare_translating, run_view, train
from tests.attacks.tally import Case, Verdict

SECONDS = 60  # that one input may take: the time limit of `check`
CASES = Path(__file__).parent / "cases"
_BATCH = 25  # inputs that one child reads
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 10**30, 0.5, -0.0, 1e308, 1e-308, float("inf"), float("nan"),
    "", " ", "x", "0", "-1", "1e999", "nan", "null", "../x", "/", "a\nb", "\x00", "\u202e", "é" * 50, "a" * 3000,
    [], {}, [[]], [None], [[1]], [[1, 2], [3]], {"": 0}, {"a": {"b": {}}}, [[[[[]]]]],
)  # fmt: skip
_TEXTS = (
    b"", b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\n\n", b"\t", b"\t\t\t", b'"', b"'", b"\\",
    b"{", b"}", b"[", b"]", b"[[", b":", b": ", b"- ", b"#", b"&a", b"*a", b"!!python/object:os.system", b"|", b">", b"%",
    b"1e308", b"-1", b"0", b"9" * 30, b"1e999999999", b"nan", b".inf", b"0x10", b"1_000", b"1:30", b"\xe2\x81\xbd", b"$$",
    b"\\begin{bmatrix}", b"\\end{bmatrix}", b"&", b"\\\\", b"=", b"/ 0", b"^", b"\\frac{1}{0}", b"\xe2\x88\x9a", b"<b>",
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A kind of input: valid examples, and how one is read. A structured one is also changed as data."""

    name: str
    suffix: str
    examples: Callable[[], list[bytes]]
    read: Callable[[Path], object]
    is_structured: bool = False
    share: float = 1.0  # of the number of inputs: to mark a working takes up to a second


# Reading, each as a command would


def read_config(path: Path) -> object:
    """Read a config; its data files do not exist here."""
    return load_run_config(path, check_files=False)


def read_corpus(form: str) -> Callable[[Path], object]:
    """Return a function that reads a file as training data, stopping at faults."""

    def read(path: Path) -> object:
        place = {form: str(path)} if form != "text" else {"source": str(path), "target": str(path)}
        corpus = CorpusConfig.model_validate(place)
        return list(read_texts([corpus], DataConfig(train=(corpus,)), "translate"))

    return read


def mark(path: Path) -> object:
    """Mark a working of the class whose mark scheme is an example."""
    scheme = load_scheme(ROOT / "examples/workings/scheme.yaml")
    return check(path, scheme.problem, scheme)


def read_lines(path: Path) -> object:
    """Read lines to translate."""
    return list(LineSource.of(str(path), None, None, None).records())


def read_journal(path: Path) -> object:
    """Resume an unfinished translation whose journal is this file."""
    output = path.with_name("out.txt")
    shutil.copyfile(path, path.with_name("out.txt.part.json"))
    path.with_name("out.txt.part").write_text("one\ntwo\n")
    with LineOutput.open(output, {"model": "x", "beam": 4}, resume=True) as opened:
        return opened.num_done


def in_folder(make: Callable[[], Path], name: str, use: Callable[[Path], object]) -> Callable[[Path], object]:
    """Return a function that puts a file into a copy of a folder, and uses that."""

    def read(path: Path) -> object:
        folder = path.with_name("folder")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(make(), folder)
        shutil.copyfile(path, folder / name)
        return use(folder)

    return read


def use_model(folder: Path) -> object:
    """Read what is needed to use a model, without its weights."""
    found = find_model(folder)
    return load_config(found), load_vocabularies(found).digest


def use_run(folder: Path) -> object:
    """Read the records of a run."""
    run = RunFolder(folder)
    return run.read_environment(), run.read_data(), run.read_outcome(), run.read_metrics()


_keep: list[tempfile.TemporaryDirectory[str]] = []  # the folders below, until the process ends


def _new_folder() -> Path:
    _keep.append(tempfile.TemporaryDirectory())
    return Path(_keep[-1].name)


@cache
def opus() -> Path:
    """Return a small OPUS-MT folder."""
    folder = _new_folder()
    prepare_opus(folder)
    return folder / "opus"


@cache
def model() -> Path:
    """Return a small model folder with its tokeniser."""
    folder = _new_folder()
    prepare_translating(folder)
    return folder / "model"


@cache
def trained() -> Path:
    """Return a small run."""
    folder = _new_folder()
    prepare_training(folder)
    in_child(lambda: train(folder))
    run_view(folder)
    return folder / "run"


def _examples(pattern: str, *, largest: int = 6_000) -> Callable[[], list[bytes]]:
    def read() -> list[bytes]:
        contents = [path.read_bytes() for path in sorted(ROOT.glob(pattern)) if path.is_file()]
        return [content for content in contents if len(content) <= largest]

    return read


def _gallery() -> list[bytes]:
    return [path.read_bytes() for path in gallery().values()]


def _sheet() -> list[bytes]:
    return [solve(str(ROOT / f"examples/{name}.yaml")).to_json() for name in ("self-attention", "feed-forward")]


def _journal() -> list[bytes]:
    state = {"lines": 1, "bytes": 4, "input": "0" * 64, "made_with": {"model": "x", "beam": 4}}
    return [json.dumps(state).encode()]


def _texts() -> list[bytes]:
    return ["".join(f"{source}\t{target}\n" for source, target in _PAIRS).encode()]


def _objects() -> list[bytes]:
    return ["".join(json.dumps({"source": source, "target": target}) + "\n" for source, target in _PAIRS).encode()]


def _file(make: Callable[[], Path], name: str) -> Callable[[], list[bytes]]:
    return lambda: [(make() / name).read_bytes()]


_PAIRS = (("the red cat", "die rote Katze"), ("where is it?", "wo ist es?"), ("", ""), ("17 fish", "17 Fische"))

KINDS = (
    Kind("problem", ".yaml", lambda: [*_examples("examples/*.yaml")(), *_gallery()], solve, is_structured=True),
    Kind("working, as data", ".yaml", _examples("examples/workings/class/*.yaml"), mark, is_structured=True, share=0.2),
    Kind("working, as a document", ".md", _examples("examples/workings/class/*.md"), mark, share=0.2),
    Kind("working, as a table", ".csv", _examples("examples/workings/class/*.csv"), mark, share=0.2),
    Kind("working with its problem", ".yaml", _examples("examples/workings/two-slips.yaml"), check, is_structured=True, share=0.2),
    Kind("mark scheme", ".yaml", _examples("examples/workings/scheme.yaml"), load_scheme, is_structured=True),
    Kind("worksheet or trace as JSON", ".json", _sheet, lambda path: load_sheet(path).to_html("matrices"), is_structured=True),
    Kind("config", ".yaml", _examples("configs/*.yaml"), read_config, is_structured=True),
    Kind("parallel text, TSV", ".tsv", _texts, read_corpus("tsv")),
    Kind("parallel text, JSONL", ".jsonl", _objects, read_corpus("jsonl")),
    Kind("parallel text, two files", ".txt", _texts, read_corpus("text")),
    Kind("lines to translate, TSV", ".tsv", _texts, read_lines),
    Kind("lines to translate, JSONL", ".jsonl", _objects, read_lines),
    Kind("journal of a translation", ".json", _journal, read_journal, is_structured=True),
    Kind("config.json of a model", ".json", _file(model, "best/config.json"), in_folder(model, "best/config.json", use_model), is_structured=True),
    Kind("tokeniser.json", ".json", _file(model, "tokeniser/tokeniser.json"), in_folder(model, "tokeniser/tokeniser.json", use_model), is_structured=True),
    Kind("config.json of an OPUS-MT folder", ".json", _file(opus, "config.json"), in_folder(opus, "config.json", use_model), is_structured=True),
    Kind("vocab.json of an OPUS-MT folder", ".json", _file(opus, "vocab.json"), in_folder(opus, "vocab.json", use_model), is_structured=True),
    Kind("tokenizer_config.json of an OPUS-MT folder", ".json", _file(opus, "tokenizer_config.json"), in_folder(opus, "tokenizer_config.json", use_model), is_structured=True),
    Kind("source.spm of an OPUS-MT folder", ".spm", _file(opus, "source.spm"), in_folder(opus, "source.spm", use_model)),
    Kind("environment.json of a run", ".json", _file(trained, "environment.json"), in_folder(trained, "environment.json", use_run), is_structured=True),
    Kind("data.json of a run", ".json", _file(trained, "data.json"), in_folder(trained, "data.json", use_run), is_structured=True),
    Kind("outcome.json of a run", ".json", _file(trained, "outcome.json"), in_folder(trained, "outcome.json", use_run), is_structured=True),
    Kind("metrics.jsonl of a run", ".jsonl", _file(trained, "metrics.jsonl"), in_folder(trained, "metrics.jsonl", use_run)),
)  # fmt: skip


# Mutating


def mutated(content: bytes, random: Random, *, is_structured: bool) -> bytes:
    """Return the content with one to four changes, of its text or of its data."""
    if is_structured and random.random() < 0.5:
        try:
            data = yaml.safe_load(content)
        except yaml.YAMLError:
            data = None
        if isinstance(data, dict | list):
            for _ in range(random.randint(1, 3)):
                _change_data(data, random)
            return json.dumps(data, default=str).encode(errors="surrogatepass")
    for _ in range(random.randint(1, 4)):
        content = _change_text(content, random)
    return content


def _change_data(data: Any, random: Random) -> None:
    """Replace, remove, repeat or rename a random value below the top."""
    while True:
        keys = list(data) if isinstance(data, dict) else list(range(len(data)))
        if not keys:
            return
        key = random.choice(keys)
        if isinstance(data[key], dict | list) and data[key] and random.random() < 0.7:
            data = data[key]
            continue
        break
    choice = random.randrange(5)
    if choice == 0:
        del data[key]
    elif choice == 1 and isinstance(data, list):
        data.append(data[key])
    elif choice == 1:
        data[str(key) + random.choice(("", "x", " ", "\x00"))] = data.pop(key)
    elif choice == 2:
        data[key] = [data[key]]
    else:
        data[key] = random.choice(_VALUES)


def _change_text(content: bytes, random: Random) -> bytes:
    """Flip, remove, repeat, replace, insert or cut off some bytes."""
    size = len(content)
    start = random.randrange(size + 1)
    end = min(size, start + random.choice((0, 1, 1, 2, 5, 20, 100)))
    choice = random.randrange(6)
    if choice == 0 and start < size:
        return content[:start] + bytes([content[start] ^ 1 << random.randrange(8)]) + content[start + 1 :]
    if choice == 1:
        return content[:start] + content[end:]
    if choice == 2:
        return content[:end] + content[start:end] * random.choice((1, 1, 3, 50)) + content[end:]
    if choice == 3:
        return content[:start] + random.choice(_TEXTS) + content[end:]
    if choice == 4:
        other = random.randrange(size + 1)
        return content[:start] + content[other : other + end - start] + content[end:]
    return content[:start] if random.random() < 0.2 else content[:start] + random.choice(_TEXTS) + content[start:]


# Judging


class _TooSlow(BaseException):
    """One input took longer than it may."""


def attack(kind: Kind, count: int, seed: int) -> Iterator[Case]:
    """Yield the outcome of reading mutated inputs, and of the cases that were found before."""
    examples = kind.examples()
    inputs = [
        path.read_bytes() for path in sorted((CASES / kind.name.replace(",", "").replace(" ", "-").lower()).glob("*"))
    ]
    for index in range(round(kind.share * count)):
        random = Random(f"{kind.name} {seed} {index}")
        inputs.append(mutated(random.choice(examples), random, is_structured=kind.is_structured))
    for first in range(0, len(inputs), _BATCH):
        yield from _batch(kind, inputs[first : first + _BATCH])


def _batch(kind: Kind, inputs: list[bytes]) -> Iterator[Case]:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "verdicts.jsonl"
        ended = in_child(lambda: _read_all(kind, inputs, Path(folder), log), seconds=SECONDS * len(inputs))
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        for content, line in zip(inputs, lines, strict=False):
            verdict, detail = json.loads(line)
            yield Case(f"mutated {kind.name}", repr(content[-4000:]), verdict, detail)
        if len(lines) < len(inputs):
            yield Case(f"mutated {kind.name}", repr(inputs[len(lines)]), "crash", f"{ended.code}: {ended.output}")
            yield from _batch(kind, inputs[len(lines) + 1 :]) if inputs[len(lines) + 1 :] else ()


def _read_all(kind: Kind, inputs: list[bytes], folder: Path, log: Path) -> None:
    def stop(number: int, frame: object) -> None:
        raise _TooSlow

    signal.signal(signal.SIGALRM, stop)
    path = folder / f"input{kind.suffix}"
    with log.open("w", encoding="utf-8") as file:
        for content in inputs:
            path.write_bytes(content)
            signal.alarm(SECONDS)
            print(json.dumps(_read_one(kind, path)), file=file, flush=True)


def _read_one(kind: Kind, path: Path) -> tuple[Verdict, str]:
    """Read one input; a warning, which a user would see as noise, counts as a fault."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kind.read(path)
    except ClearheadError as problem:
        sentence = str(problem).strip()
        return ("refused", "") if sentence else ("crash", "refused without a sentence")
    except _TooSlow:
        return "crash", f"took longer than {SECONDS} s"
    except Exception:
        return "crash", traceback.format_exc()[-1500:]
    finally:
        signal.alarm(0)
    return "read", f"{time.perf_counter() - start:.1f} s"

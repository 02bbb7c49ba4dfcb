"""What docs/security.md promises: no network, no code from files, no files but those that were asked for."""

import ast
import os
import re
import socket
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import clearhead
from clearhead.files import reading
from clearhead.model.config import ModelConfig
from clearhead.serve import models_api
from tests.command import run
from tests.small_run import make_run

ROOT = Path(__file__).parents[2]
HOME = Path(clearhead.__file__).parent
NETWORK = {
    "socket",
    "ssl",
    "http",
    "urllib",
    "ftplib",
    "smtplib",
    "requests",
    "httpx",
    "aiohttp",
    "webbrowser",
    "huggingface_hub",
}
CODE = {"pickle", "marshal", "shelve", "dill", "joblib", "code", "runpy", "transformers"}
# git, and the server's own worker processes; malloc's settings
PROCESSES = {
    "subprocess": {
        "training/environment.py",
        "serve/worker_process.py",
    },
    "ctypes": {"model/device.py"},
}
# the server listens; no module opens a connection, except to the cluster that a user names
SERVING = {"socket": {"decoding/ray_job.py", "serve/http_server.py"}}
CALLS = {"eval", "exec", "compile", "__import__"}
ATTRIBUTES = {
    ("torch", "load"),
    ("np", "load"),
    ("os", "system"),
    ("os", "popen"),
    ("yaml", "load"),
    ("yaml", "unsafe_load"),
}
SUSPECT = re.compile(
    rf"\b({'|'.join([*NETWORK, *CODE, *PROCESSES, *CALLS, 'load', 'unsafe_load', 'system', 'popen'])})\b"
)
_recordings: list[list[str]] = []  # an audit hook cannot be removed, so there is one for all tests


@contextmanager
def files_written() -> Iterator[list[str]]:
    """Collect the names of all files that are opened for writing or created, by Python code in this process."""
    names: list[str] = []
    if not _recordings:
        sys.addaudithook(_note)
    _recordings.append(names)
    try:
        yield names
    finally:
        _recordings[-1] = []  # the hook goes on, and notes nothing that is read again


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        _recordings[-1].append(os.fsdecode(str(arguments[0])))
    elif event in ("os.mkdir", "os.symlink", "os.link"):
        _recordings[-1].append(str(arguments[0]))


def test_no_module_uses_the_network_runs_code_from_files_or_starts_programs() -> None:
    for path in HOME.rglob("*.py"):
        name, text = path.relative_to(HOME).as_posix(), path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if SUSPECT.search(text) else ():  # parsing all files would take long
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            # urllib.parse splits addresses and opens none
            for module in (module.partition(".")[0] for module in modules if module != "urllib.parse"):
                assert module not in NETWORK | CODE or name in SERVING.get(module, ()), f"{name} imports {module}"
                assert module not in PROCESSES or name in PROCESSES[module], f"{name} imports {module}"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in CALLS, f"{name}:{node.lineno} calls {node.func.id}"
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert (node.value.id, node.attr) not in ATTRIBUTES, (
                    f"{name}:{node.lineno} uses {node.value.id}.{node.attr}"
                )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("model") / "own")


@pytest.mark.parametrize(
    "command",
    [
        ("solve", "lets-go", "-o", "sheet.html"),
        ("check", "numerical-self-attention", "-o", "marked.html"),
        ("translate", "-m", "MODEL", "--engine", "torch", "where is the house?"),
        ("translate", "-m", "MODEL", "the red cat"),
    ],
    ids=" ".join,
)
def test_a_command_opens_no_connection_and_writes_only_its_output_and_the_cache(
    command: tuple[str, ...], model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError(f"a connection: {arguments} {options}")

    for name in ("socket", "create_connection", "getaddrinfo", "gethostbyname"):
        monkeypatch.setattr(socket, name, refuse)
    monkeypatch.setenv("CLEARHEAD_CACHE", str(tmp_path / "cache"))
    model_files = {path: path.read_bytes() for path in model.rglob("*") if path.is_file()}
    (tmp_path / "here").mkdir()
    with files_written() as names:
        done = run(*(str(model) if word == "MODEL" else word for word in command), cwd=tmp_path / "here")
    assert done.returncode == (1 if command[0] == "check" else 0), done.stderr
    outputs = [path.name for path in (tmp_path / "here").iterdir()]
    assert outputs == ([command[-1]] if command[-2] == "-o" else [])
    outside = [name for name in names if not (tmp_path / "here" / name).is_relative_to(tmp_path)]
    assert [name for name in outside if not Path(name).is_dir()] == [], (
        "a folder: the standard input of the test, without a name"
    )
    assert {path: path.read_bytes() for path in model.rglob("*") if path.is_file()} == model_files


def test_every_dependency_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [entry for name, entries in project["optional-dependencies"].items() if name != "dev" for entry in entries]
    names = {re.split(r"[\[>=<;]", entry)[0] for entry in [*project["dependencies"], *extras]} - {"clearhead"}
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    assert names == set(re.findall(r"^\| `([\w.-]+)` \|", page.partition("## Dependencies")[2], re.MULTILINE))


def test_the_limits_of_a_model_folder_are_those_that_the_page_states() -> None:
    page = " ".join((ROOT / "docs" / "security.md").read_text(encoding="utf-8").split())
    assert "2²⁴ tokens, a width of 65,536, a `d_ff` of 2²⁰, 200 layers on each side" in page
    assert "JSON files and tokenisers have at most 64 MiB" in page
    assert "64 KiB of a card" in page
    limits = {"source_vocabulary": 2**24, "d_model": 2**16, "d_ff": 2**20, "encoder_blocks": 200, "decoder_blocks": 200}
    fields = ModelConfig.model_json_schema()["properties"]
    assert {name: fields[name]["maximum"] for name in limits} == limits
    assert (reading.MAX_BYTES, models_api.MAX_CARD) == (64 * 2**20, 64 * 2**10)

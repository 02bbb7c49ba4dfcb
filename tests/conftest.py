"""Fixtures that tests share: every worksheet that the project ships, solved once."""

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

# Before torch or numpy is loaded: one test process runs per core, and threads of several processes would compete for the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# CTranslate2 multiplies int8 with oneDNN on some processors, which saturates, and with MKL on others: tests of our
# conversion use the exact one everywhere.
os.environ.setdefault("CT2_USE_MKL", "1")
# Ray reads these once, when it is imported. A token keeps others out of the clusters that tests start, and in the
# environment it is not written to the home folder.
os.environ.setdefault("RAY_AUTH_MODE", "token")
os.environ.setdefault("RAY_AUTH_TOKEN", token_hex(32))
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
# A shell's background jobs ignore Ctrl-C, and so would every program that a test starts in order to interrupt it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest

from clearhead import Worksheet, solve
from clearhead.data import corpora
from clearhead.data.config import CorpusConfig
from clearhead.worksheet.reading import gallery
from tests.phrasebook_run import trained_run

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path.is_file())
SHIPPED = [*gallery(), *(str(path) for path in EXAMPLES)]


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep tests, and the programs that they start, out of the user's own cache."""
    os.environ["CLEARHEAD_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session", autouse=True)
def _no_disk_is_waited_for() -> Iterator[None]:
    """Let files and folders be flushed by the system when it likes: only a power failure would show the difference.

    Tests that need the calls of os.fsync record them; processes that tests start flush as usual.
    """
    flush = os.fsync

    def flush_special_files(descriptor: int) -> None:
        mode = os.fstat(descriptor).st_mode  # a closed file is an error, as ever
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            flush(descriptor)  # an error for pipes

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", flush_special_files)
        yield


@pytest.fixture(scope="session", autouse=True)
def _built_in_pairs_are_drawn_once() -> Iterator[None]:
    """Keep the pairs of a built-in corpus: every run draws them three times, to learn, to convert and to hash them."""
    draw, pairs = corpora._built_in, {}

    def drawn_once(config: CorpusConfig) -> Iterator[tuple[str, str]]:
        name = (config.built_in, config.split)
        if name not in pairs:
            pairs[name] = tuple(draw(config))
        return iter(pairs[name])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpora, "_built_in", drawn_once)
        yield


@pytest.fixture(scope="session")
def all_sheets() -> dict[str, Worksheet]:
    """Every gallery problem and every example, solved."""
    return {name: solve(name) for name in SHIPPED}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--phrasebook", type=Path, help="use this trained run of the phrasebook instead of training one")


@pytest.fixture(scope="session")
def phrasebook_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained run of the phrasebook, shared by all workers."""
    existing: Path | None = request.config.getoption("phrasebook")
    return existing or trained_run(tmp_path_factory)

"""Load of `clearhead serve`: requests per second, times to an answer, CPU time a sentence, and memory, in one run.

Server processes on 127.0.0.1 are asked for translations of short sentences by 1 to 1,000 clients at once (wrk, or a
client of equal weight). Beside clearhead runs a naive server: FastAPI and one CTranslate2 call for each request, with
the same converted model. Client and server share the cores, so the server's own CPU time a sentence is compared with
that of the same engine offline on the same sentences: all at once, sorted by length, and in batches of 64 as they come.
Run: python benchmarks/serve_load.py [--seconds 10] [--clients 1 16 64 256 1000] [--requests 100000] [--data FILE]
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from load_client import LoadResult, client_name, measure  # isort: skip  # beside this file, in benchmarks/
from serve_sentences import sentences_of  # isort: skip
from served_process import ServedProcess, served  # isort: skip

PATH = "/v1/translate"
_COLUMNS = "| server | clients | answers/s | p50 (ms) | p95 (ms) | p99 (ms) | statuses | failures | CPU ms/sentence |"
_BATCH = 64  # sentences of an offline batch, as many as the clients whose CPU time is compared
_NAIVE = str(Path(__file__).with_name("naive_server.py"))


@dataclass(frozen=True)
class Row:
    """A measurement of one server with one number of clients, and the server's CPU seconds for one sentence."""

    load: LoadResult
    cpu: float

    def text(self, name: str) -> str:
        """Return it as a row of the table."""
        return self.load.row(name, f"{1000 * self.cpu:.3f}")


def loaded(process: ServedProcess, bodies: Sequence[str], clients: int, seconds: float) -> Row:
    """Measure a server with some clients."""
    before = process.cpu_seconds
    load = measure(process.port, PATH, bodies, clients, seconds)
    return Row(load, (process.cpu_seconds - before) / max(1, load.statuses[200]))


@dataclass(frozen=True)
class OfflineCost:
    """CPU seconds for a sentence without a server: of all sentences at once, and in batches of 64 as they come."""

    at_once: float
    in_batches: float
    per_second: float  # sentences, all at once


def offline_cost(options: argparse.Namespace, sentences: Sequence[str]) -> OfflineCost:
    """Measure the same engine in a process of its own."""
    command = [sys.executable, __file__, "--offline", options.source, options.target, str(options.beam)]
    process = subprocess.run(command, input="\n".join(sentences), capture_output=True, text=True, check=True)
    return OfflineCost(**json.loads(process.stdout))


def translate_offline(source: str, target: str, beam: int) -> None:
    """Translate the lines of standard input, and print the CPU time that a sentence took."""
    from clearhead.decoding.search.settings import SearchSettings
    from clearhead.decoding.translator import Translator
    from clearhead.formats.built_in import built_in_for
    from clearhead.formats.model_folder import built_in_folder

    sentences = sys.stdin.read().split("\n")
    translator = Translator.load(built_in_folder(built_in_for(source, target)))
    settings = SearchSettings(beam=beam)
    translator.translate(sentences[:200], settings)
    start, cpu = time.perf_counter(), time.process_time()
    translator.translate(sentences, settings)
    seconds, at_once = time.perf_counter() - start, time.process_time() - cpu
    cpu = time.process_time()
    for first in range(0, len(sentences), _BATCH):
        translator.translate(sentences[first : first + _BATCH], settings)
    in_batches = time.process_time() - cpu
    cost = OfflineCost(at_once / len(sentences), in_batches / len(sentences), len(sentences) / seconds)
    print(json.dumps(vars(cost)))


def best_naive(options: argparse.Namespace, bodies: Sequence[str]) -> str:
    """Return the faster way of the naive server, tried with 16 clients."""
    rates = {}
    for way in ("threads", "loop"):
        with served(naive_command(options, way)) as process:
            loaded(process, bodies, 4, 1)
            rates[way] = loaded(process, bodies, 16, 3).load.per_second
    print(f"The naive server with 16 clients: {', '.join(f'{way} {rate:.0f}/s' for way, rate in rates.items())}.\n")
    return max(rates, key=rates.__getitem__)


def naive_command(options: argparse.Namespace, way: str) -> list[str]:
    """Return the command of the naive server, without its port."""
    languages = ["--source", options.source, "--target", options.target]
    return [_NAIVE, "--way", way, *languages, "--beam", str(options.beam)]


def serve_command(options: argparse.Namespace) -> list[str]:
    """Return the command of clearhead's server, without its port."""
    return ["-m", "clearhead", "serve", *options.server]


def describe(options: argparse.Namespace, sentences: Sequence[str]) -> None:
    """Print the machine, the versions, the commit and the sentences."""
    names = ("clearhead", "fastapi", "uvicorn", "ctranslate2")
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in names)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    processor = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.processor(),
    )
    load = os.getloadavg()[0]
    print(f"- Machine: {processor}, {len(os.sched_getaffinity(0))} cores shared by client and server; load {load:.1f} "
          "before the run")  # fmt: skip
    print(f"- Versions: Python {platform.python_version()}, {versions}; commit {commit}; client: {client_name()}")
    num_words = sum(len(sentence.split()) for sentence in sentences) / len(sentences)
    print(f"- {len(sentences):,} different sentences of {num_words:.1f} words, {options.source}-{options.target}, "
          f"beam {options.beam}, one a request, {options.seconds:g} s for each row\n")  # fmt: skip


def compare_servers(options: argparse.Namespace, bodies: Sequence[str], offline: OfflineCost) -> None:
    """Print the table of both servers, and the ratio of CPU times."""
    way = best_naive(options, bodies) if not options.without_naive else ""
    print(_COLUMNS, "|---" * 9 + "|", sep="\n")
    rows: dict[int, Row] = {}
    for clients in options.clients:
        with served(serve_command(options)) as process:
            loaded(process, bodies, 4, 2)
            rows[clients] = loaded(process, bodies, clients, options.seconds)
            print(rows[clients].text("clearhead"), flush=True)
        if way:
            with served(naive_command(options, way)) as process:
                loaded(process, bodies, 4, 2)
                print(loaded(process, bodies, clients, options.seconds).text(f"naive ({way})"), flush=True)
    print()
    for clients, row in rows.items():
        ratios = [row.cpu / cost for cost in (offline.at_once, offline.in_batches)]
        print(f"- CPU time a sentence with {clients:,} clients: {ratios[0]:.2f} times that of all sentences at once "
              f"offline, {ratios[1]:.2f} times that of batches of {_BATCH}")  # fmt: skip
    print()


def show_memory(options: argparse.Namespace, bodies: Sequence[str]) -> None:
    """Print the memory of the server after growing numbers of requests."""
    print("| requests | memory (MB) | statuses |\n|---|---|---|")
    with served(serve_command(options)) as process:
        loaded(process, bodies, 64, 3)
        total, step = 0, options.requests / 5
        print(f"| 0 (after a start of 3 s) | {process.memory:.1f} | |", flush=True)
        for part in range(1, 6):
            statuses: dict[int, int] = {}
            while total < part * step:
                load = measure(process.port, PATH, bodies, 64, 5)
                total += sum(load.statuses.values())
                for status, count in load.statuses.items():
                    statuses[status] = statuses.get(status, 0) + count
                if not load.statuses:
                    raise SystemExit("the server does not answer any more.")
            if statuses:
                print(f"| {total:,} | {process.memory:.1f} | {statuses} |", flush=True)
    print()


def main() -> None:
    """Measure, and print Markdown."""
    if sys.argv[1:2] == ["--offline"]:
        translate_offline(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, nargs="*", default=[1, 16, 64, 256, 1000], help="none: only memory")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each row")
    parser.add_argument("--requests", type=int, default=100_000, help="of the measurement of memory; 0 leaves it out")
    parser.add_argument("--sentences", type=int, default=5000)
    parser.add_argument("--data", type=Path, help="a file with a sentence on each line, instead of made sentences")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="es")
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--without-naive", action="store_true")
    parser.add_argument("--server", nargs="*", default=[], help="further arguments of clearhead serve (without dashes)")
    options = parser.parse_args()
    sentences = sentences_of(options.data, options.sentences)
    fields = {"source": options.source, "target": options.target, "beam": options.beam}
    bodies = [json.dumps({"text": sentence, **fields}, ensure_ascii=False) for sentence in sentences]
    describe(options, sentences)
    if not options.clients:
        show_memory(options, bodies)
        return
    offline = offline_cost(options, sentences)
    print(f"Offline, CPU time a sentence: {1000 * offline.at_once:.3f} ms of all at once ({offline.per_second:,.0f} "
          f"sentences/s), {1000 * offline.in_batches:.3f} ms in batches of {_BATCH}.\n", flush=True)  # fmt: skip
    compare_servers(options, bodies, offline)
    if options.requests:
        show_memory(options, bodies)


if __name__ == "__main__":
    main()

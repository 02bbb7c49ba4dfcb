"""Shares of `clearhead serve`: ten clients with short sentences, alone and beside one client with a very long text.

Each client has an address of its own (127.0.0.2 and so on, which Linux has without any setting) and sends its next
sentence as soon as it has the last answer. The other client sends a very long text again and again: 60,000 characters
of sentences on separate lines, or one line of addresses with 99,000 characters. Printed are the times to an answer, the
ratio of the p99, and how long the server computes after the 504 of a request that is given up.
Run: python benchmarks/serve_shares.py [--seconds 30] [--clients 10]
"""

import argparse
import asyncio
import json
import os
import platform
import subprocess
import time
from collections.abc import Sequence
from importlib import metadata

import numpy as np

from load_client import HOST  # isort: skip  # beside this file, in benchmarks/
from serve_sentences import sentences_of  # isort: skip
from served_process import ServedProcess, served  # isort: skip

_SIZE = 99_000  # characters of one line
_LINES_SIZE = 60_000  # characters of sentences on lines: the queue takes about 2,000 of them
_QUIET = 0.02  # CPU seconds in a tenth of a second: less is idle
_COLUMNS = (
    "| beside | answers of the ten/s | p50 (ms) | p95 (ms) | p99 (ms) | p99 / p99 alone |\n|---|---|---|---|---|---|"
)


async def answer_of(streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], body: bytes) -> int:
    """Send a request, and return the status of its answer."""
    reader, writer = streams
    head = f"POST /v1/translate HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(int(answer.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]))
    return int(answer.split()[1])


async def ask_until(port: int, address: str, bodies: Sequence[bytes], end: float) -> list[float]:
    """Send one request after the other; return the seconds of each that was answered by 200."""
    streams = await asyncio.open_connection(HOST, port, local_addr=(address, 0))
    seconds: list[float] = []
    for place in range(10**9):
        start = time.perf_counter()
        if start >= end:
            break
        if await answer_of(streams, bodies[place % len(bodies)]) == 200:
            seconds.append(time.perf_counter() - start)
    streams[1].close()
    return seconds


async def load(port: int, bodies: Sequence[bytes], long: bytes | None, options: argparse.Namespace) -> list[float]:
    """Return the seconds of all answers to the short clients."""
    end = time.perf_counter() + options.seconds
    clients = [
        ask_until(port, f"127.0.0.{2 + number}", bodies[number :: options.clients], end)
        for number in range(options.clients)
    ]
    beside = None if long is None else asyncio.create_task(ask_until(port, "127.0.0.99", [long], end))
    answers = await asyncio.gather(*clients)
    if beside is not None:
        beside.cancel()
    return [seconds for answer in answers for seconds in answer]


async def seconds_until_idle(process: ServedProcess, long: bytes) -> float:
    """Send a request that takes longer than the limit, and return how long the server computes after its 504."""
    status = await answer_of(await asyncio.open_connection(HOST, process.port), long)
    if status != 504:
        raise SystemExit(f"the long request was answered by {status}.")
    start = last = time.perf_counter()
    while True:
        cpu = process.cpu_seconds
        await asyncio.sleep(0.1)
        if process.cpu_seconds - cpu < _QUIET:
            return last - start
        last = time.perf_counter()


def describe() -> None:
    """Print the machine, the versions and the commit."""
    names = ("clearhead", "ctranslate2", "torch", "uvicorn")
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in names)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    cores = len(os.sched_getaffinity(0))
    print(f"- Machine: {platform.machine()}, {cores} cores for clients and server; load {os.getloadavg()[0]:.1f}")
    print(f"- Versions: Python {platform.python_version()}, {versions}; commit {commit}\n", flush=True)


def main() -> None:
    """Measure, and print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30.0, help="of each row")
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=2, help="of all rows")
    options = parser.parse_args()
    describe()
    sentences = sentences_of(None, 1000)
    pair = {"source": "en", "target": "es"}
    bodies = [json.dumps({"text": sentence, **pair}).encode() for sentence in sentences]
    addresses = "".join(f"{number % 997} Main Street, Springfield {10_000 + number}, " for number in range(3000))
    texts = {"sentences on lines": "\n".join(sentences * 9)[:_LINES_SIZE], "one line of addresses": addresses[:_SIZE]}
    with served(["-m", "clearhead", "serve", "--set", "log=off"]) as process:
        asyncio.run(load(process.port, bodies, None, argparse.Namespace(**{**vars(options), "seconds": 3})))
        print(_COLUMNS, flush=True)
        for _ in range(options.rounds):
            alone = 0.0
            for name, text in {"nothing": None, **texts}.items():
                long = None if text is None else json.dumps({"text": text, **pair}).encode()
                seconds = asyncio.run(load(process.port, bodies, long, options))
                p50, p95, p99 = (1000 * value for value in np.percentile(seconds, [50, 95, 99]))
                alone = alone or p99
                rate = len(seconds) / options.seconds
                print(f"| {name} | {rate:.0f} | {p50:.0f} | {p95:.0f} | {p99:.0f} | {p99 / alone:.2f} |", flush=True)
                time.sleep(2)  # for the given up request to end
    print()
    slow = {"beam 10": {"beam": 10}, "beam 10 with 50 required words": {"beam": 10, "required": _words()}}
    with served(["-m", "clearhead", "serve", "--set", "log=off", "--set", "queue.time_limit=10"]) as process:
        for name, fields in slow.items():
            long = json.dumps({"text": texts["one line of addresses"], **pair, **fields}).encode()
            times = [asyncio.run(seconds_until_idle(process, long)) for _ in range(3)]
            print(f"- Seconds until the server is idle after a 504, {name}: "
                  f"{', '.join(f'{value:.1f}' for value in times)}", flush=True)  # fmt: skip


def _words() -> list[str]:
    """Return 50 words of the target language."""
    starts, ends = ("casa", "perro", "libro", "coche", "gato", "mesa", "puerta", "silla", "agua", "pan"), "aeios"
    return [f"{start[:-1]}{end}" for start in starts for end in ends]


if __name__ == "__main__":
    main()

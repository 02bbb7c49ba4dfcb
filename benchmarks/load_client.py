"""A load client for HTTP servers on this machine: wrk if it is installed, otherwise a small client on raw sockets.

Each connection sends the next request as soon as it has the answer to the last one. Only 127.0.0.1 is contacted.
"""

import asyncio
import json
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HOST = "127.0.0.1"
_WRK = """
bodies, counts, place = {}, {}, 0
local threads = {}
function setup(thread) thread:set("number", #threads); table.insert(threads, thread) end
function init(args)
  for line in io.lines(args[1]) do table.insert(bodies, line) end
  place = number * 7919
  wrk.method, wrk.headers["Content-Type"] = "POST", "application/json"
end
function request() place = place + 1; return wrk.format(nil, nil, nil, bodies[place % #bodies + 1]) end
function response(status) counts[status] = (counts[status] or 0) + 1 end
function done(summary, latency, requests)
  local all, text = {}, {}
  for _, thread in ipairs(threads) do
    for status, count in pairs(thread:get("counts")) do all[status] = (all[status] or 0) + count end
  end
  for status, count in pairs(all) do table.insert(text, string.format('"%d": %d', status, count)) end
  local e = summary.errors
  io.write(string.format('RESULT {"seconds": %f, "p50": %f, "p95": %f, "p99": %f, "failures": %d, "statuses": {%s}}\\n',
    summary.duration / 1e6, latency:percentile(50) / 1e6, latency:percentile(95) / 1e6, latency:percentile(99) / 1e6,
    e.connect + e.read + e.write + e.timeout, table.concat(text, ", ")))
end
"""


@dataclass(frozen=True)
class LoadResult:
    """What some clients saw: seconds, percentiles of the time to an answer, and how many answers had which status."""

    clients: int
    seconds: float
    p50: float
    p95: float
    p99: float
    failures: int  # connections that were refused or broken, and answers that did not come
    statuses: Counter[int]

    @property
    def per_second(self) -> float:
        """Successful answers per second."""
        return self.statuses[200] / self.seconds

    def row(self, name: str, *more: str) -> str:
        """Return a row of a Markdown table."""
        statuses = ", ".join(f"{status}: {count:,}" for status, count in sorted(self.statuses.items()))
        times = [f"{1000 * value:,.1f}" for value in (self.p50, self.p95, self.p99)]
        cells = (name, f"{self.clients:,}", f"{self.per_second:,.0f}", *times, statuses, f"{self.failures}", *more)
        return f"| {' | '.join(cells)} |"


def measure(port: int, path: str, bodies: Sequence[str], clients: int, seconds: float) -> LoadResult:
    """Send requests from many clients at once for some seconds."""
    if shutil.which("wrk"):
        return _measure_by_wrk(port, path, bodies, clients, seconds)
    return asyncio.run(_measure_by_sockets(port, path, bodies, clients, seconds))


def client_name() -> str:
    """Return which client is used."""
    return "wrk" if shutil.which("wrk") else "asyncio on raw sockets"


def _measure_by_wrk(port: int, path: str, bodies: Sequence[str], clients: int, seconds: float) -> LoadResult:
    with tempfile.TemporaryDirectory() as folder:
        script, file = Path(folder) / "client.lua", Path(folder) / "bodies.txt"
        script.write_text(_WRK)
        file.write_text("".join(f"{body}\n" for body in bodies), encoding="utf-8")
        command = ["wrk", "-t1", f"-c{clients}", f"-d{max(1, round(seconds))}s", "--timeout", "60s", "-s", str(script)]
        command += [f"http://{HOST}:{port}{path}", "--", str(file)]
        output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds + 120).stdout
    data = json.loads(next(line for line in output.splitlines() if line.startswith("RESULT")).removeprefix("RESULT "))
    statuses = Counter({int(status): count for status, count in data.pop("statuses").items()})
    return LoadResult(clients=clients, statuses=statuses, **data)


async def _measure_by_sockets(port: int, path: str, bodies: Sequence[str], clients: int, seconds: float) -> LoadResult:
    requests = [
        f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body.encode())}\r\n\r\n{body}".encode()
        for body in bodies
    ]
    statuses: Counter[int] = Counter()
    times: list[float] = []
    failures = 0
    start = time.perf_counter()

    async def send(place: int) -> None:
        nonlocal failures
        try:
            reader, writer = await asyncio.open_connection(HOST, port)
            while time.perf_counter() - start < seconds:
                sent = time.perf_counter()
                writer.write(requests[place % len(requests)])
                place += 1
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
                await reader.readexactly(length)
                times.append(time.perf_counter() - sent)
                statuses[int(head[9:12])] += 1
            writer.close()
        except (OSError, ValueError, asyncio.IncompleteReadError):
            failures += 1

    await asyncio.gather(*(send(7919 * number) for number in range(clients)))
    times.sort()
    p50, p95, p99 = (times[min(len(times) - 1, int(len(times) * share))] for share in (0.50, 0.95, 0.99))
    return LoadResult(clients, time.perf_counter() - start, p50, p95, p99, failures, statuses)

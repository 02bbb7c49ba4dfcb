"""How long a student waits: start-up, a small problem, and 512 tokens × width 64 × 8 heads.

Each line is compared with the minimum that the same work costs without clearhead: the interpreter with the
libraries that the command loads, and plain numpy with the standard library's json. Uses hyperfine if it is installed
(Debian: apt-get install hyperfine). Run from the repository: make bench
"""

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

RUNS = 10
CLEARHEAD = f"{sys.executable} -m clearhead.cli.main"

PLAIN = """
import json, sys
import numpy as np
p = json.load(open(sys.argv[1]))
x, (wq, wk, wv, wo) = np.array(p["X"]), (np.array(p[k]) for k in ("W_Q", "W_K", "W_V", "W_O"))
h, n, d = p["num_heads"], *x.shape
q, k, v = ((x @ w).reshape(n, h, -1).swapaxes(0, 1) for w in (wq, wk, wv))
s = q @ k.swapaxes(1, 2)
t = s / np.sqrt(q.shape[-1])
e = np.exp(t - t.max(-1, keepdims=True))
a = e / e.sum(-1, keepdims=True)
z = a @ v
j = z.swapaxes(0, 1).reshape(n, -1)
y = j @ wo
if len(sys.argv) > 2:
    json.dump([m.tolist() for m in (q, k, v, s, t, a, z, j, y)], sys.stdout)
else:
    print(y[0, 0])
"""


def seconds(command: str) -> float:
    """Return the median wall time of a command, start-up included."""
    hyperfine = shutil.which("hyperfine")
    if hyperfine:
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            runs = ["--warmup", "1", "--runs", str(RUNS), "--export-json", report.name]
            subprocess.run([hyperfine, *runs, "--output", "null", command], check=True, capture_output=True)
            return float(json.loads(Path(report.name).read_text())["results"][0]["median"])
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def large_problem(path: Path) -> None:
    """Write a problem with 512 tokens of width 64 and 8 heads."""
    random = np.random.default_rng(0)
    problem: dict[str, object] = {"kind": "multi-head-attention", "num_heads": 8}
    shapes = {"X": (512, 64), "W_Q": (64, 64), "W_K": (64, 64), "W_V": (64, 64), "W_O": (64, 64)}
    problem |= {name: random.normal(size=shape).round(3).tolist() for name, shape in shapes.items()}
    path.write_text(json.dumps(problem))


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    large, plain = folder / "large.json", folder / "plain.py"
    large_problem(large)
    plain.write_text(PLAIN)
    python = sys.executable
    libraries = "import numpy, pydantic, yaml, orjson, rich.table, typer"
    rows = [
        ("--help", f"{CLEARHEAD} --help", f'{python} -c "import typer, rich.table"', 0.5),
        ("small problem", f"{CLEARHEAD} solve lets-go-encoder", f'{python} -c "{libraries}"', 0.5),
        ("check a working", f"{CLEARHEAD} check exam-self-attention", f'{python} -c "{libraries}"', 0.5),
        ("512 × 64 × 8 heads, shown", f"{CLEARHEAD} solve {large}", f"{python} {plain} {large}", 2.0),
        ("512 × 64 × 8 heads, --json", f"{CLEARHEAD} solve {large} --json", f"{python} {plain} {large} json", 6.0),
    ]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    tool = "hyperfine" if shutil.which("hyperfine") else "time.perf_counter"
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "pydantic", "orjson", "rich", "typer"))
    print(f"{platform.machine()}, {os.cpu_count()} cores; Python {platform.python_version()}; {packages}")
    print(f"commit {commit.strip()}; median of {RUNS} runs, start-up included, by {tool}\n")
    print("| work | clearhead (s) | minimum (s) | ratio | budget (s) |\n|---|---:|---:|---:|---:|")
    for name, command, least, budget in rows:
        ours, theirs = seconds(command), seconds(least)
        print(f"| {name} | {ours:.3f} | {theirs:.3f} | {ours / theirs:.2f} | {budget:.1f} |")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()

"""Training with several processes: what one process loses to the exchange of gradients, and what two processes gain.

In one run, on the same model and batches: our update without a process group; our update in a group of one process,
with all its collectives; PyTorch's DistributedDataParallel in a group of one, around the same model; and, on a CPU, our
update in two processes that share its cores. All make complete updates (forward, backward, clipping, AdamW), in turns.

    python benchmarks/devices.py
    python benchmarks/devices.py --preset small --batch-tokens 4096 --device cuda
"""

import argparse
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from clearhead.model import Batch, SequenceModel, build_model, preset
from clearhead.model.device import keep_freed_memory
from clearhead.training.config import TrainingConfig
from clearhead.training.distributed.membership import Membership
from clearhead.training.distributed.rendezvous import open_world
from clearhead.training.distributed.world import ALONE, World
from clearhead.training.step import Updater
from convolutional_speed import CLIP, RATE, SMOOTHING, VOCABULARY, make_batch

CONFIG = TrainingConfig(rate=RATE, warm_up=0, clip=CLIP, label_smoothing=SMOOTHING)


def make_model(options: argparse.Namespace) -> SequenceModel:
    torch.manual_seed(1)
    return build_model(preset(options.preset, source_vocabulary=VOCABULARY)).to(options.device).train()


def ours(options: argparse.Namespace, batch: Batch, world: World) -> Callable[[], None]:
    """Return our update."""
    precision = torch.bfloat16 if options.device == "cuda" else torch.float32
    updater = Updater(make_model(options), CONFIG, is_compiled=False, precision=precision, world=world)
    numbers = iter(range(1, 10**9))
    return lambda: assert_done(updater.step([batch], RATE, next(numbers)))


def assert_done(is_done: bool) -> None:
    assert is_done


class Objective(nn.Module):
    """The loss as a module, which DistributedDataParallel can wrap."""

    def __init__(self, model: SequenceModel) -> None:
        super().__init__()
        assert isinstance(model, nn.Module)
        self.model = model

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the mean loss."""
        loss: Tensor = self.model.loss(Batch(source, target), SMOOTHING).mean
        return loss


def torch_ddp(options: argparse.Namespace, batch: Batch) -> Callable[[], None]:
    """Return an update with PyTorch's DistributedDataParallel, as its documentation writes it."""
    from torch.nn.parallel import DistributedDataParallel

    objective = DistributedDataParallel(Objective(make_model(options)))
    adam = torch.optim.AdamW(objective.parameters(), lr=RATE, fused=True)

    def update() -> None:
        adam.zero_grad(set_to_none=True)
        with torch.autocast(options.device, torch.bfloat16, enabled=options.device == "cuda"):
            loss = objective(batch.source, batch.target)
        loss.backward()
        nn.utils.clip_grad_norm_(objective.parameters(), CLIP)
        adam.step()

    return update


def seconds(update: Callable[[], None], device: str, count: int) -> float:
    """Return the seconds of an update."""
    start = time.perf_counter()
    for _ in range(count):
        update()
    if device == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / count


def measure_ranks(options: argparse.Namespace, size: int) -> float:
    """Return the seconds of an update in `size` processes that share the cores of this machine."""
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]
    threads = str(max(1, torch.get_num_threads() // size))
    environment = {**os.environ, "OMP_NUM_THREADS": threads}
    command = [sys.executable, __file__, *sys.argv[1:], "--port", str(port), "--size", str(size)]
    processes = [
        subprocess.Popen([*command, "--rank", str(rank)], stdout=subprocess.PIPE, env=environment)
        for rank in range(size)
    ]
    outputs = [process.communicate()[0] for process in processes]
    assert not any(process.returncode for process in processes)
    return float(json.loads(outputs[0]))


def work_as_rank(options: argparse.Namespace, count: int) -> None:
    """Print the median time of an update in one of several processes."""
    membership = Membership(options.rank, options.size, options.rank, options.size, "localhost", options.port)
    with open_world(membership, TrainingConfig(device=options.device)) as world:
        update = ours(options, make_batch(options.batch_tokens, options.length, options.device), world)
        seconds(update, options.device, 2)
        print(statistics.median(seconds(update, options.device, count) for _ in range(options.rounds)))
    sys.stdout.flush()
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--length", type=int, default=32)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--updates", type=int)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    keep_freed_memory()
    torch.set_float32_matmul_precision("high")
    count = options.updates or (20 if options.device == "cuda" else 2)
    if options.rank is not None:
        work_as_rank(options, count)
    batch = make_batch(options.batch_tokens, options.length, options.device)
    assert batch.target is not None
    num_tokens = int((batch.target != 0).sum())
    membership = Membership(0, 1, 0, 1, "localhost", 0)
    with open_world(membership, TrainingConfig(device=options.device)) as world:
        updates = {
            "one process, no group": ours(options, batch, ALONE),
            "one process, a group of one": ours(options, batch, world),
            "one process, PyTorch's DistributedDataParallel": torch_ddp(options, batch),
        }
        for update in updates.values():
            seconds(update, options.device, 3)
        times: dict[str, list[float]] = {name: [] for name in updates}
        for _ in range(options.rounds):
            for name, update in updates.items():
                times[name].append(seconds(update, options.device, count))
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    if options.device == "cpu" and (os.cpu_count() or 1) > 1:
        medians["two processes that share the cores"] = measure_ranks(options, 2)
    print_table(options, medians, num_tokens)


def print_table(options: argparse.Namespace, medians: dict[str, float], num_tokens: int) -> None:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    is_cuda = options.device == "cuda"
    machine = torch.cuda.get_device_name() if is_cuda else f"{platform.machine()}, {os.cpu_count()} cores"
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    number = sum(parameter.numel() for parameter in make_model(options).parameters())
    print(f"{machine}; {torch.get_num_threads()} threads; {versions}; commit {commit.strip()}")
    print(
        f"preset {options.preset}, {number:,} parameters ({4 * number / 2**20:.0f} MiB of gradients); {num_tokens:,} "
        f"target tokens; median of {options.rounds} rounds; load average {os.getloadavg()[0]:.1f}"
    )
    print("\n| update | ms | target tokens/s | × no group |\n|---|---:|---:|---:|")
    base = medians["one process, no group"]
    for name, taken in medians.items():
        print(f"| {name} | {1000 * taken:,.1f} | {num_tokens / taken:,.0f} | {base / taken:.3f} |")
    sys.stdout.flush()
    os._exit(0)  # the threads of gloo can abort an interpreter that ends in order


if __name__ == "__main__":
    main()

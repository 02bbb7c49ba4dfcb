"""The job files in deploy/ for clusters: they start torchrun with options that exist, and resume a run that was stopped."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

DEPLOY = Path(__file__).parents[3] / "deploy"
SLURM = {"SLURM_JOB_NODELIST": "node[1-2]", "SLURM_JOB_ID": "41017", "SLURM_NNODES": "2", "SLURM_GPUS_ON_NODE": "4"}


def stand_in(folder: Path, name: str, code: str) -> None:
    """Write a program that takes the place of a real one."""
    path = folder / name
    path.write_text(f"#!/bin/bash\n{code}\n")
    path.chmod(0o755)


def run_script(command: list[str], folder: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "FOLDER": str(folder), **variables}
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """A folder with stand-ins for the programs of Slurm, which note how they were called."""
    stand_in(tmp_path, "scontrol", '[[ $1 == show ]] && printf "node1\\nnode2\\n" || echo "$@" > "$FOLDER/requeued"')
    stand_in(tmp_path, "srun", 'printf "%s\\n" "$@" > "$FOLDER/called"; exit "${CODE:-0}"')
    return tmp_path


def submit(cluster: Path, *more: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(DEPLOY / "train.slurm"), "my.yaml", "my run", *more]
    return run_script(command, cluster, {**SLURM, "CODE": str(code)})


def test_the_slurm_job_starts_torchrun_on_each_machine(cluster: Path) -> None:
    process = submit(cluster, "--set", "training.steps=7")
    assert process.returncode == 0, process.stderr
    assert (cluster / "called").read_text().split("\n")[:-1] == [
        *("--kill-on-bad-exit=1", "torchrun", "--nnodes", "2", "--nproc-per-node", "4", "--rdzv-id", "41017"),
        *("--rdzv-backend", "c10d", "--rdzv-endpoint", "node1:21017", "--max-restarts", "0", "-m", "clearhead", "--"),
        *("train", "my.yaml", "--run", "my run", "--set", "training.steps=7"),
    ]
    assert not (cluster / "requeued").exists()


def test_the_slurm_job_that_was_stopped_is_queued_again_and_resumes(cluster: Path) -> None:
    run = cluster / "my run"
    run.mkdir()
    (run / "config.yaml").touch()
    (run / "outcome.json").write_text('{\n  "steps": 30,\n  "stopped": "interrupted"\n}\n')
    assert submit(cluster, code=1).returncode == 1
    assert (cluster / "requeued").read_text() == "requeue 41017\n"
    assert (cluster / "called").read_text().endswith("my run\n--resume\n")


def test_the_slurm_job_that_failed_is_not_queued_again(cluster: Path) -> None:
    assert submit(cluster, code=1).returncode == 1
    assert not (cluster / "requeued").exists()


def test_the_slurm_job_says_what_it_needs(cluster: Path) -> None:
    process = run_script(["bash", str(DEPLOY / "train.slurm")], cluster, SLURM)
    assert process.returncode != 0
    assert "usage: sbatch deploy/train.slurm CONFIG RUN [OPTIONS OF clearhead train]" in process.stderr


def test_the_kubernetes_job_starts_torchrun_in_each_pod(tmp_path: Path) -> None:
    service, job = yaml.safe_load_all((DEPLOY / "train-kubernetes.yaml").read_text())
    assert (service["kind"], job["kind"], job["spec"]["completionMode"]) == ("Service", "Job", "Indexed")
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"] == {"job-name": job["metadata"]["name"]}
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    values: dict[str, Any] = {entry["name"]: entry["value"] for entry in container["env"]}
    assert values["NODES"] == str(job["spec"]["parallelism"]) == str(job["spec"]["completions"])
    assert values["GPUS"] == container["resources"]["limits"]["nvidia.com/gpu"]
    stand_in(tmp_path, "torchrun", 'printf "%s\\n" "$@" > "$FOLDER/called"')
    run = tmp_path / "run"
    for is_resumed in (False, True):
        process = run_script([*container["command"], *container["args"]], tmp_path, {**values, "RUN": str(run)})
        assert process.returncode == 0, process.stderr
        port = service["spec"]["ports"][0]["port"]
        name = f"{job['metadata']['name']}-0.{pod['subdomain']}"
        assert (tmp_path / "called").read_text().split("\n")[:-1] == [
            *("--nnodes", "2", "--nproc-per-node", "4", "--rdzv-id", "clearhead-train", "--rdzv-backend", "c10d"),
            *("--rdzv-endpoint", f"{name}:{port}", "--max-restarts", "0", "-m", "clearhead", "--"),
            *("train", "/runs/my.yaml", "--run", str(run), *(["--resume"] if is_resumed else [])),
        ]
        run.mkdir(exist_ok=True)
        (run / "config.yaml").touch()

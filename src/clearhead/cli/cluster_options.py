"""The options of the verbs that can run on a Ray cluster, and the connection to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.errors import ConfigError

if TYPE_CHECKING:
    from clearhead.cluster.connection import RayCluster
    from clearhead.cluster.stream import ClusterWorkers
    from clearhead.formats.model_folder import ModelFolder


@dataclass(frozen=True)
class ClusterOptions:
    """The cluster, and the number of its workers."""

    ray: Annotated[
        str | None,
        typer.Option(
            metavar="auto|HOST:PORT",
            help="Run on the workers of a Ray cluster: the one at this address, or with auto the one that is running, "
            "otherwise one that is started on this machine. \\[default: off]",
        ),
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With --ray: number of workers, each with its own copy of the model. "
            "\\[default: one for each GPU of the cluster, otherwise one for each CPU]",
        ),
    ] = None

    @property
    def is_used(self) -> bool:
        """Whether the job runs on a cluster."""
        if self.ray is None and self.workers is not None:
            raise ConfigError("--workers is the number of workers of a Ray cluster. Give --ray too.")
        if self.ray is not None and not self.ray.strip():
            raise ConfigError("--ray is empty. Give the address of a Ray cluster, such as 10.0.0.1:6379, or auto.")
        return self.ray is not None

    @contextmanager
    def connected(self, device: str, *, quiet: bool = False) -> Iterator[tuple["RayCluster", "ClusterWorkers"]]:
        """Connect to the cluster, and plan the workers."""
        from clearhead.cluster.connection import AUTO, connected

        with connected(self.ray or AUTO, self.workers) as cluster:
            from clearhead.cluster.stream import ClusterWorkers

            pool = ClusterWorkers.plan(cluster, device, self.workers)
            if cluster.is_local and not quiet:
                count = "1 worker" if pool.num_workers == 1 else f"{pool.num_workers} workers"
                typer.echo(
                    f"clearhead: no Ray cluster is running, so one with {count} was started on this machine.", err=True
                )
            yield cluster, pool


def absolute_model(model: "Path | ModelFolder") -> "ModelFolder":
    """Return where a model is, with absolute paths, because workers run in another folder."""
    from clearhead.formats.model_folder import find_model

    folder = find_model(model)
    return replace(folder, folder=folder.folder.absolute(), vocabularies=folder.vocabularies.absolute())

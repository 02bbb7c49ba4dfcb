"""`clearhead translate --ray`: the same translations, by the workers of a Ray cluster."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli.translate_progress import TranslationProgress
from clearhead.errors import ConfigError

if TYPE_CHECKING:
    from clearhead.decoding.job import JobHooks
    from clearhead.decoding.ray_job import RayTask


@dataclass(frozen=True)
class ClusterOptions:
    """The cluster, and the number of its workers."""

    ray: Annotated[
        str | None,
        typer.Option(
            metavar="auto|HOST:PORT",
            help="Translate a file on the workers of a Ray cluster: the one at this address, or with auto the one that "
            "is running, otherwise one that is started on this machine. \\[default: off]",
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
        return self.ray is not None


def run_on_cluster(
    options: ClusterOptions, task: "RayTask", progress: TranslationProgress, hooks: "JobHooks", *, resume: bool
) -> None:
    """Translate on the cluster, with progress."""
    from clearhead.decoding.ray_job import AUTO, RayCluster

    with progress:
        RayCluster(options.ray or AUTO, options.workers).translate(task, hooks, resume=resume)

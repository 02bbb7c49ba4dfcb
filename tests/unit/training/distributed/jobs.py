"""What ranks do in tests: each function is called in every rank with the world that connects them."""

from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console

from clearhead.training.distributed.world import World
from clearhead.training.launch import launch
from tests.unit.training.runs import settings_of


def train(world: World, folder: str, changes: dict[str, Any], resume: bool = False) -> dict[str, Any]:
    """Train a tiny run to its end, and return how it ended and the log of this rank."""
    output = StringIO()
    console = Console(file=output, width=400)
    outcome = launch(settings_of(**changes), Path(folder), resume=resume, console=console, world=world)
    return {"outcome": outcome.to_data(), "output": output.getvalue()}

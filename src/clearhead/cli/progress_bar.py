"""A progress bar for a measurement with several parts. It is drawn on a terminal, and nowhere else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Show = Callable[[str, int, int], None]


@contextmanager
def progress_bar(first: str = "loading the model") -> Iterator[Show]:
    """Provide a function that shows the name of a part, how much of it is done, and its total.

    `first` is shown until it is called.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda part, num_done, total: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = BarColumn(bar_width=30), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(first, total=None)

        def show(part: str, num_done: int, total: int) -> None:
            description = f"{part}: {num_done:,} of {total:,}"
            bar.update(task, description=description, completed=num_done, total=total)

        yield show

"""Write docs/tour.ipynb from docs/tour.py and run it, so that its outputs are stored: python docs/make_tour.py.

It uses the model of `make demo` in runs/phrasebook where there is one. Needs nbclient and ipykernel (extra dev).
"""

import re
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

DOCS = Path(__file__).parent
SOURCE, NOTEBOOK = DOCS / "tour.py", DOCS / "tour.ipynb"


def notebook_of(source: str) -> NotebookNode:
    """Return a notebook without outputs; `# %%` starts a cell of code, `# %% [markdown]` one of text in comments."""
    cells = []
    for kind, text in re.findall(r"^# %%( \[markdown\])?\n(.*?)(?=^# %%|\Z)", source, re.MULTILINE | re.DOTALL):
        if kind:
            lines = [line.removeprefix("#").removeprefix(" ") for line in text.strip().splitlines()]
            cell = nbformat.v4.new_markdown_cell("\n".join(lines))
        else:
            cell = nbformat.v4.new_code_cell(text.strip())
        cell["id"] = f"cell-{len(cells) + 1}"  # not random, so that the file changes only where its content does
        cells.append(cell)
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


def execute(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """Run every cell in a folder and keep the outputs; an error in a cell is raised."""
    language = notebook.metadata["language_info"]
    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, timeout=300, record_timing=False, coalesce_streams=True, resources=resources)
    client.execute()
    notebook.metadata["language_info"] = language  # the kernel adds the version of this Python
    for output in outputs_of(notebook):
        if "text/html" in output.get("data", {}):
            output["data"].pop("text/plain", None)  # the same once more, and longer
    return notebook


def outputs_of(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the outputs of all cells, in order."""
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def main() -> None:
    """Write the notebook."""
    notebook = execute(notebook_of(SOURCE.read_text(encoding="utf-8")), DOCS)
    NOTEBOOK.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    print(f"{NOTEBOOK} written: {NOTEBOOK.stat().st_size / 1024:.0f} KiB.")


if __name__ == "__main__":
    main()

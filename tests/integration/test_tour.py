"""The notebook runs from top to bottom, and its stored outputs of exercises are up to date."""

import re
import runpy
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("ipykernel", reason="ipykernel is not installed")
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
pytest.importorskip("nbclient", reason="nbclient is not installed")

DOCS = Path(__file__).parents[2] / "docs"
make_tour = SimpleNamespace(**runpy.run_path(str(DOCS / "make_tour.py")))
SOURCE = (DOCS / "tour.py").read_text(encoding="utf-8")
PHRASEBOOK_ENTRY = "    - built_in: phrasebook\n"
NUM_EXERCISE_OUTPUTS = 6  # those before the model, which do not depend on training


def visible(notebook: nbformat.NotebookNode) -> list[list[str]]:
    """Return the text of every output, without its styling and without warnings.

    On a new and busy machine, for example, matplotlib reports that it collects the fonts.
    """
    texts = []
    for output in make_tour.outputs_of(notebook):
        if output.get("name") == "stderr":
            continue
        text = output.get("text", "") or output.get("data", {}).get("text/html", "")
        texts.append(re.sub(r"(?s)<style.*?</style>|<[^>]*>", " ", text).split())
    return texts


def test_the_notebook_is_generated_from_its_source() -> None:
    notebook = nbformat.read(DOCS / "tour.ipynb", as_version=4)
    cells = [(cell.cell_type, cell.source) for cell in notebook.cells]
    expected = [(cell.cell_type, cell.source) for cell in make_tour.notebook_of(SOURCE).cells]
    assert cells == expected, "run: python docs/make_tour.py"
    assert all(
        output.output_type != "error" and output.get("name") != "stderr" for output in make_tour.outputs_of(notebook)
    )
    assert (DOCS / "tour.ipynb").stat().st_size < 300_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the notebook, which also looks for a model next to it: the folder above belongs to the test too."""
    (tmp_path / "notebook").mkdir()
    return tmp_path / "notebook"


@pytest.mark.slow
def test_the_notebook_runs_with_the_model_of_the_demo(phrasebook_run: Path, folder: Path) -> None:
    shutil.copytree(phrasebook_run, folder / "runs" / "phrasebook")
    notebook = make_tour.execute(make_tour.notebook_of(SOURCE), folder)
    text = " ".join(word for words in visible(notebook) for word in words)
    assert "Vamos ¿Dónde está el hotel viejo? Me gusta el libro rojo." in text
    assert text.endswith("16 of 16 marks, 0 errors")
    images = [output for output in make_tour.outputs_of(notebook) if "image/png" in output.get("data", {})]
    assert len(images) == 2
    stored = nbformat.read(DOCS / "tour.ipynb", as_version=4)
    for output, stored_output in list(zip(visible(notebook), visible(stored), strict=True))[:NUM_EXERCISE_OUTPUTS]:
        assert output == stored_output, "run: python docs/make_tour.py"


@pytest.mark.slow
def test_the_notebook_trains_a_model_if_there_is_none(folder: Path) -> None:
    source = SOURCE
    # Shorter, and only the few set phrases: it learns nothing, but every cell runs.
    for words, replacement in (("steps: 250,", "steps: 3,"), ("warm_up: 50,", "warm_up: 1,"), (PHRASEBOOK_ENTRY, "")):
        assert source.count(words) == 1
        source = source.replace(words, replacement)
    notebook = make_tour.execute(make_tour.notebook_of(source), folder)
    assert (folder / "runs" / "tour" / "outcome.json").exists()
    assert visible(notebook)[-1][-2:] == ["0", "errors"]

"""The documentation is true: its commands and its Python run, and print what the pages show."""

from pathlib import Path

import pytest

from tests.command import run
from tests.docs_runner import fill_folder, run_page

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs" / name for name in ("index.md", "install.md")),
    *sorted((ROOT / "docs" / "guide").glob("*.md")),
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def expect_no_failures(page: Path, folder: Path) -> None:
    failures = run_page(page, folder)
    if failures:
        pytest.fail("\n".join([f"{len(failures)} failures in {page}\n", *failures]), pytrace=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_runs_and_prints_what_it_shows(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    is_model_needed = "runs/phrasebook" in page.read_text(encoding="utf-8")
    fill_folder(tmp_path, request.getfixturevalue("phrasebook_run") if is_model_needed else None)
    expect_no_failures(page, tmp_path)


@pytest.mark.slow
def test_the_card_of_a_trained_model_runs(phrasebook_run: Path, tmp_path: Path) -> None:
    fill_folder(tmp_path, phrasebook_run)
    card = tmp_path / "runs" / "phrasebook" / "README.md"
    assert "```python" in card.read_text(encoding="utf-8")
    expect_no_failures(card, tmp_path)


@pytest.mark.parametrize("task", ["classify", "language-model"])
def test_the_card_of_another_task_runs(task: str, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("".join(f"word {number} of a text\n" for number in range(29)))
    (tmp_path / "labels.txt").write_text("odd\neven\n" * 14 + "odd\n")
    files = "{source: text.txt, target: labels.txt}" if task == "classify" else "{source: text.txt}"
    (tmp_path / "my.yaml").write_text(
        f"task: {task}\npreset: tiny\ndata:\n  train: [{files}]\ntext: {{vocabulary: 37}}\ntraining: {{steps: 2}}\n"
    )
    completed = run("train", "my.yaml", cwd=tmp_path)
    assert completed.returncode == 0, completed.stderr
    card = tmp_path / "runs" / "my" / "README.md"
    assert "```python" in card.read_text(encoding="utf-8")
    expect_no_failures(card, tmp_path)

"""`clearhead film`: where the page is written, what is printed, and that torch is not needed."""

import json
import subprocess
import sys
from pathlib import Path

from clearhead.cli.film import film
from tests.command import run
from tests.unit.explain.film.films import write_film


def test_the_page_is_in_the_folder_of_the_run(tmp_path: Path) -> None:
    place = write_film(tmp_path / "run")
    done = run("film", str(place))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"Wrote {place}/film.html: 3 frames.\n")
    assert (place / "film.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    film(place, tmp_path / "other.html")
    assert (tmp_path / "other.html").read_bytes() == (place / "film.html").read_bytes()


def test_json_prints_the_translations(tmp_path: Path) -> None:
    place = write_film(tmp_path / "run")
    done = run("film", str(place), "--json")
    frames = json.loads(done.stdout)["frames"]
    assert [frame["translations"][0]["text"] for frame in frames] == ["el el", "el gato <b>", "el gato rojo"]
    assert not (place / "film.html").exists()


def test_a_run_without_a_film_and_a_damaged_frame_are_errors_of_one_line(tmp_path: Path) -> None:
    done = run("film", str(tmp_path / "nowhere"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    place = write_film(tmp_path / "run")
    (place / "film" / "step-00000020.npz").write_bytes(b"half")
    done = run("film", str(place))
    assert done.returncode == 2
    assert "step-00000020.npz is not a frame of a film" in done.stderr


def test_no_file_of_the_run_is_overwritten(tmp_path: Path) -> None:
    place = write_film(tmp_path / "run")
    frame = place / "film" / "step-00000020.npz"
    before = frame.read_bytes()
    page = tmp_path / "page.html"
    page.symlink_to(frame)
    done = run("film", str(place), "-o", str(page))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        f"clearhead: {page} is the same file as {frame}, which belongs to the model or its run, and the output would overwrite"
    )
    assert frame.read_bytes() == before
    for _ in range(2):  # a page of an earlier call is replaced
        assert run("film", str(place)).returncode == 0


def test_the_output_is_a_page(tmp_path: Path) -> None:
    place = write_film(tmp_path / "run")
    done = run("film", str(place), "-o", "film.txt", cwd=tmp_path)
    message = "--output film.txt is not a page. Use a name that ends in .html, or --json for the data."
    assert (done.returncode, done.stderr) == (2, f"clearhead: {message}\n")
    assert not (tmp_path / "film.txt").exists()


def test_torch_is_not_loaded(tmp_path: Path) -> None:
    place = write_film(tmp_path / "run")
    code = (
        "import sys, clearhead.cli.main as m\n"
        f"sys.argv = ['clearhead', 'film', {str(place)!r}]\n"
        "try:\n    m.main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "sys.exit('torch was loaded' if 'torch' in sys.modules else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr

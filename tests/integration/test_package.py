"""The package as it would be published: what it contains, that its page renders, and that the wheel works without torch."""

import importlib.metadata
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.installed_command import failures_of

ROOT = Path(__file__).parents[2]


def test_every_file_that_the_readme_links_to_exists() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#\s]+)", text) + re.findall(r'(?:src|srcset|href)="([^"#]+)"', text)
    relative = [link for link in links if "://" not in link]
    assert relative
    assert [link for link in relative if not (ROOT / link).exists()] == []


def test_the_page_of_the_package_renders() -> None:
    markdown = pytest.importorskip("readme_renderer.markdown", reason="readme_renderer is not installed")
    page = markdown.render((ROOT / "README.md").read_text(encoding="utf-8"))
    assert page is not None
    assert "<h1" in page
    assert "test:" not in page  # directives of the documentation test are comments


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist and, from it, the wheel, with the build backend that is installed here: no network."""
    for name in ("build", "hatchling"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    completed = subprocess.run(build, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return folder


@pytest.mark.slow
def test_the_sdist_has_what_it_needs_and_no_local_files(packages: Path) -> None:
    (path,) = packages.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    folders = {name.partition("/")[0] for name in names if "/" in name}
    assert folders == {"src", "tests", "docs", "examples", "configs", "benchmarks", "deploy"}
    files = {name for name in names if "/" not in name}
    assert files >= {"pyproject.toml", "README.md", "LICENSE", "Makefile", "constraints.txt", "PKG-INFO"}
    assert not [name for name in names if "__pycache__" in name]
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode == 0:
        sources = {name for name in tracked.stdout.splitlines() if name.startswith("src/")}
        assert sources <= names


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package_and_no_other(packages: Path) -> None:
    (path,) = packages.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    source = ROOT / "src"
    files = {file.relative_to(source).as_posix() for file in (source / "clearhead").rglob("*") if file.is_file()}
    assert names == {name for name in files if "__pycache__" not in name}


@pytest.mark.slow
def test_the_wheel_works_with_its_core_dependencies_alone(packages: Path, tmp_path: Path) -> None:
    (wheel,) = packages.glob("*.whl")
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    completed = subprocess.run(install, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    (packages_folder,) = environment.glob("lib/python*/site-packages")
    link_dependencies(wheel, packages_folder)
    assert not (packages_folder / "torch").exists()
    assert failures_of(environment / "bin" / "clearhead", tmp_path) == []


def link_dependencies(wheel: Path, folder: Path) -> None:
    """Link the dependencies of a wheel, and those of the dependencies, from this environment into a folder."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = archive.read(name).decode("utf-8").partition("\n\n")[0]
    pending = re.findall(r"^Requires-Dist: (.*)$", metadata, re.MULTILINE)
    linked: set[str] = set()
    while pending:
        requirement = Requirement(pending.pop())
        if canonicalize_name(requirement.name) in linked or not is_needed(requirement):
            continue
        linked.add(canonicalize_name(requirement.name))
        distribution = importlib.metadata.distribution(requirement.name)
        for part in {file.parts[0] for file in distribution.files or []} - {os.pardir, "__pycache__"}:
            link = folder / part
            if not link.exists():
                link.symlink_to(Path(str(distribution.locate_file(part))))
        pending += distribution.requires or []


def is_needed(requirement: Requirement) -> bool:
    """Whether a requirement holds here without any extra."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})

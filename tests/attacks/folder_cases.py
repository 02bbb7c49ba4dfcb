"""Model folders that want to show other files, or to act in the pages of a server that serves them."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from clearhead.formats.built_in import built_in_models

SECRET = "the-secret-of-another-folder"
POLICY = "default-src *; script-src 'unsafe-inline' *"
ACT = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><script>top.hacked = "{SECRET}"</script>'


def model_folder(place: Path) -> Path:
    """Copy a built-in model to a folder that an attack may change."""
    shutil.copytree(built_in_models()[0].folder, place)
    return place


def _link(target: str) -> Callable[[Path, Path], None]:
    def attack(card: Path, secret: Path) -> None:
        card.symlink_to(target.format(secret=secret, up=os.path.relpath(secret, card.parent)))

    return attack


def _chain(card: Path, secret: Path) -> None:
    """Lead through a link in the folder, whose own target is outside."""
    (card.parent / "other.md").symlink_to(secret)
    card.symlink_to("other.md")


def _through_folder(card: Path, secret: Path) -> None:
    (card.parent / "docs").symlink_to(secret.parent)
    card.symlink_to(f"docs/{secret.name}")


def _circle(card: Path, secret: Path) -> None:
    card.symlink_to(card.name)


def _folder(card: Path, secret: Path) -> None:
    card.mkdir()
    (card / "a").symlink_to(secret)


def _pipe(card: Path, secret: Path) -> None:
    os.mkfifo(card)


# What stands in place of a model card; none of it may be read.
CARDS: dict[str, Callable[[Path, Path], None]] = {
    "an absolute link": _link("{secret}"),
    "a link upwards": _link("{up}"),
    "a link to a link": _chain,
    "a link through a linked folder": _through_folder,
    "a link to itself": _circle,
    "a device": _link("/dev/zero"),
    "the process": _link("/proc/self/environ"),
    "a folder": _folder,
    "a pipe": _pipe,
}


def hub_snapshot(place: Path) -> Path:
    """Return a folder as the cache of a model hub has it: every file is a link to a blob beside the snapshots."""
    model = model_folder(place / "model")
    snapshot, blobs = place / "cache" / "snapshots" / "main", place / "cache" / "blobs"
    blobs.mkdir(parents=True)
    for number, path in enumerate(sorted(path for path in model.rglob("*") if path.is_file())):
        blob = blobs / f"{number:040}"
        path.rename(blob)
        link = snapshot / path.relative_to(model)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(blob, link.parent))
    return snapshot

"""The user's cache folder: files that can be deleted at any time, because clearhead can make them again."""

import os
import sys
from pathlib import Path

VARIABLE = "CLEARHEAD_CACHE"  # the folder of the cache, instead of the system's


def user_cache(name: str) -> Path:
    """Create and return the folder of one kind of cached files, such as `ctranslate2`, that only this user can read.

    Raise OSError if there is no place for it.
    """
    folder = _cache() / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _cache() -> Path:
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE])
    return _system_cache() / "clearhead"


def _system_cache() -> Path:
    chosen = Path(os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", ""))
    if chosen.is_absolute():
        return chosen
    try:
        home = Path.home()
    except RuntimeError:
        raise OSError("the user has no home folder") from None
    return home / {"win32": "AppData/Local", "darwin": "Library/Caches"}.get(sys.platform, ".cache")

"""The user's cache folder: files that can be deleted at any time, because clearhead can make them again."""

import os
import sys
from pathlib import Path

VARIABLE = "CLEARHEAD_CACHE"  # the folder of the cache, instead of the system's


def user_cache(name: str) -> Path:
    """Create and return the folder of one kind of cached files, such as `ctranslate2`, that only this user can read.

    Raise OSError if there is no place for it.
    """
    cache = _cache()
    cache.parent.mkdir(parents=True, exist_ok=True)
    for folder in (cache, cache / name):
        folder.mkdir(mode=0o700, exist_ok=True)
    return cache / name


def _cache() -> Path:
    try:
        if os.environ.get(VARIABLE):
            return Path(os.environ[VARIABLE]).expanduser()
        return _system_cache() / "clearhead"
    except RuntimeError:
        raise OSError("the user has no home folder") from None


def _system_cache() -> Path:
    chosen = Path(os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", ""))
    if chosen.is_absolute():
        return chosen
    return Path.home() / {"win32": "AppData/Local", "darwin": "Library/Caches"}.get(sys.platform, ".cache")

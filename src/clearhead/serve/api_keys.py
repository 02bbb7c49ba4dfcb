"""API keys in a SQLite file: only hashes are stored, and each key has a name and a rate per minute."""

import hashlib
import hmac
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from clearhead.errors import ConfigError, printable

_SCHEMA = """CREATE TABLE IF NOT EXISTS api_keys (
    id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, hash BLOB NOT NULL, rate INTEGER, created REAL NOT NULL)"""
_PREFIX = "clearhead"
_NO_HASH = bytes(32)  # compared if there is no such key, so that an answer takes the same time


@dataclass(frozen=True)
class ApiKey:
    """A key without its secret; `rate` is the number of requests per minute, None is no limit."""

    id: str
    name: str
    rate: int | None
    created: float


class KeyFile:
    """The keys of a file. The server only reads it; `add` and `remove` are for its operator."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def add(self, name: str, rate: int | None = None) -> str:
        """Add a key with a name, and return it: this is the only time that it can be read."""
        if not name or len(name) > 100 or not name.isprintable():
            raise ConfigError(f"'{printable(name[:100])}' is not a name for a key. Use 1 to 100 printable characters.")
        identity, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        with self._open() as connection:
            try:
                connection.execute(
                    "INSERT INTO api_keys VALUES (?, ?, ?, ?, ?)", (identity, name, _hash(secret), rate, time.time())
                )
            except sqlite3.IntegrityError:
                raise ConfigError(
                    f"{self._shown}: there is a key with the name '{printable(name)}'. Use another name, or remove it."
                ) from None
        return f"{_PREFIX}-{identity}-{secret}"

    def remove(self, name: str) -> None:
        """Remove the key with a name, or raise ConfigError if there is none."""
        self._check_exists()
        with self._open() as connection:
            if connection.execute("DELETE FROM api_keys WHERE name = ?", (name,)).rowcount == 0:
                raise ConfigError(f"{self._shown}: there is no key with the name '{printable(name)}'.")

    def keys(self) -> list[ApiKey]:
        """Return all keys, by name."""
        self._check_exists()
        with self._open() as connection:
            rows = connection.execute("SELECT id, name, rate, created FROM api_keys ORDER BY name").fetchall()
        return [ApiKey(*row) for row in rows]

    def find(self, text: str) -> ApiKey | None:
        """Return the key that a client sent, or None if it is not valid."""
        prefix, _, rest = text.partition("-")
        identity, _, secret = rest.partition("-")
        with self._open(is_new=False) as connection:
            row = connection.execute(
                "SELECT id, name, rate, created, hash FROM api_keys WHERE id = ?", (identity,)
            ).fetchone()
        stored = _NO_HASH if row is None else row[4]
        is_equal = hmac.compare_digest(stored, _hash(secret))
        return ApiKey(*row[:4]) if row is not None and is_equal and prefix == _PREFIX else None

    @property
    def _shown(self) -> str:
        return printable(str(self.path))

    def _check_exists(self) -> None:
        if not self.path.is_file():
            raise ConfigError(f"{self._shown} does not exist, so there are no keys. Add one first.")

    @contextmanager
    def _open(self, *, is_new: bool = True) -> Iterator[sqlite3.Connection]:
        """Open the file, and save what was changed; raise ConfigError if it cannot be read or written.

        With `is_new` it is made if it does not exist; otherwise it is only read.
        """
        address = self.path.absolute().as_uri()
        try:
            mode = "rwc" if is_new else "ro"
            with closing(sqlite3.connect(f"{address}?mode={mode}", timeout=5, uri=True)) as connection, connection:
                if is_new:
                    connection.execute(_SCHEMA)
                yield connection
        except sqlite3.Error as wrong:
            raise ConfigError(f"the keys in {self._shown} cannot be used: {wrong}.") from None


def _hash(secret: str) -> bytes:
    """Return the hash of a secret. It has 256 random bits, so a slow hash would add nothing."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()

"""Who may send requests, and how many: API keys, and a rate per minute for each key or address."""

import math
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from starlette.requests import Request

from clearhead.errors import ClearheadError
from clearhead.serve.api_errors import ApiError
from clearhead.serve.api_keys import ApiKey, KeyFile
from clearhead.serve.settings import KeySettings
from clearhead.serve.tickets import Client

_REMEMBERED = 15.0  # seconds in which a valid key is not looked up again
_MAX_REMEMBERED = 10_000  # keys, and addresses with a rate
_RETRY = 10  # seconds, if the keys cannot be read

# Calls that need no key, even if keys are required. The pages and their files are the same on every server. A document
# has an address of 144 random bits, which is its key: links of a browser send no header.
PUBLIC = frozenset(
    {
        *("/health", "/health/live", "/health/ready", "/frontend/settings"),
        "/download_file/{identity}",
    }
)
# Clients of LibreTranslate send their key as a field of the body. These calls check it as soon as they have read it.
KEY_IN_BODY = frozenset({"/translate", "/detect", "/languages", "/translate_file"})


@dataclass
class RateBucket:
    """Requests that a client may still send; it fills up within a minute."""

    rate: int
    tokens: float = field(init=False)
    filled: float = field(init=False)

    def __post_init__(self) -> None:
        self.tokens, self.filled = float(self.rate), time.monotonic()

    def take(self) -> int | None:
        """Take one request; return None, or the seconds until the next request is allowed."""
        now = time.monotonic()
        self.tokens = min(self.rate, self.tokens + (now - self.filled) * self.rate / 60)
        self.filled = now
        if self.tokens >= 1:
            self.tokens -= 1
            return None
        return max(1, math.ceil((1 - self.tokens) * 60 / self.rate))


class Access:
    """Checks the key and the rate of requests."""

    def __init__(self, settings: KeySettings) -> None:
        self.settings = settings
        self.file = None if settings.file is None else KeyFile(settings.file)
        self._valid: OrderedDict[str, tuple[float, ApiKey]] = OrderedDict()
        self._buckets: OrderedDict[str, RateBucket] = OrderedDict()

    @property
    def is_open(self) -> bool:
        """Whether every request is allowed."""
        return self.file is None and self.settings.rate is None

    async def admit(self, request: Request) -> None:
        """Check the key and the rate of a request before its body is read: a dependency of every call of the API."""
        path = request.scope["route"].path
        is_later = path in KEY_IN_BODY and not header_key(request)
        if path not in PUBLIC and not is_later:
            self.check(request, header_key(request))

    def check(self, request: Request, text: str) -> None:
        """Raise ApiError 401 or 403 if a request with this key, or none, may not be sent; 429 if too many were sent."""
        if self.is_open:
            return
        if text and self.file is not None:
            valid = self._find(text)
            request.scope.setdefault("clearhead", {})["key"] = valid.name  # for the log, also of a refused request
            request.scope["client_name"] = f"key {valid.id}"
            self._limit(client_of(request).name, valid.rate)
            return
        if self.settings.is_required:
            raise ApiError(401, "an API key is required: send it as api_key, or as 'Authorization: Bearer KEY'.")
        self._limit(client_of(request).name, self.settings.rate)

    def _find(self, text: str) -> ApiKey:
        assert self.file is not None
        entry = self._valid.get(text)
        if entry is not None and time.monotonic() - entry[0] < _REMEMBERED:
            return entry[1]
        try:
            key = self.file.find(text)
        except ClearheadError:  # the sentence would show the path of the file
            raise ApiError(
                503, "the API keys cannot be read at present. Try again later.", retry_after=_RETRY
            ) from None
        if key is None:
            self._valid.pop(text, None)
            raise ApiError(403, "Invalid API key")
        self._valid[text] = (time.monotonic(), key)
        if len(self._valid) > _MAX_REMEMBERED:
            self._valid.popitem(last=False)
        return key

    def _limit(self, client: str, rate: int | None) -> None:
        if rate is None:
            return
        bucket = self._buckets.get(client)
        if bucket is None or bucket.rate != rate:
            bucket = self._buckets[client] = RateBucket(rate)
        self._buckets.move_to_end(client)
        if len(self._buckets) > _MAX_REMEMBERED:
            self._buckets.popitem(last=False)
        seconds = bucket.take()
        if seconds is not None:
            sentence = f"Slowdown: {rate:,} requests per minute are allowed. Try again in {seconds} s."
            raise ApiError(429, sentence, retry_after=seconds)


def client_of(request: Request) -> Client:
    """Return who sent a request: the key that was checked, or else the address."""
    address = request.client.host if request.client else ""
    return Client(request.scope.get("client_name", f"address {address}"), request.is_disconnected)


def header_key(request: Request) -> str:
    """Return the key in the headers or in the query of a request, or an empty text."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and value:
        return value.strip()
    return request.headers.get("x-api-key") or request.query_params.get("api_key") or ""

"""Requests that are too long for their time limit, or whose clients leave: their work stops, and others are answered.

A request of 100 kB is sent to a real server in several ways. After its 504, or after its client has closed the
connection, the server may begin only a few batches more, and answers a short request of the same kind.
In a test a short time limit is enough; by hand: python -m tests.attacks.given_up_cases --seconds 30
"""

import argparse
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import requests

from tests.unit.serve.small_app import listening

_SIZE = 99_900  # characters, fewer than limits.characters
_STREETS = ("Main Street", "Oak Avenue", "Elm Road", "Maple Drive", "Station Road", "Church Lane", "High Street")
_TOWNS = ("Springfield", "Dover", "Bristol", "Salem", "Madison")
_REQUIRED = (
    "casa perro libro coche río maestro pan puerta mesa silla agua fuego tierra aire sol luna mar cielo flor árbol "
    "gato vaca caballo pez ave leche queso vino té café rojo azul verde negro blanco grande pequeño alto bajo nuevo "
    "viejo bueno malo rey reina hijo hija madre padre hermano"
)
_BATCHES = re.compile(r"^clearhead_batch_seconds_count (\S+)$", re.MULTILINE)
_MOST_BATCHES = 4  # after a request was given up: those that were running, and that of the short request
_PAIR = {"source": "en", "target": "es"}


def addresses() -> str:
    """Return one line without the end of a sentence."""
    parts: list[str] = []
    size = 0
    while size < _SIZE:
        number = len(parts)
        street, town = _STREETS[number % len(_STREETS)], _TOWNS[number % len(_TOWNS)]
        parts.append(f"{number % 997 + 1} {street}, {town} {10_000 + number * 7}, ")
        size += len(parts[-1])
    return "".join(parts)[:_SIZE]


@dataclass(frozen=True)
class LongRequest:
    """A request that takes minutes, and a short one that needs the same thread."""

    name: str
    path: str
    body: Mapping[str, Any]
    short: Mapping[str, Any]


def long_requests() -> list[LongRequest]:
    """Return the requests of this attack."""
    line = addresses()
    text, plain = {**_PAIR, "text": line}, {**_PAIR, "text": "I have a car."}
    query, short_query = {**_PAIR, "q": line}, {**_PAIR, "q": "I have a car."}
    pairs = [
        {"source": line[start : start + 199], "target": line[start : start + 199]} for start in range(0, 99_500, 398)
    ]
    constraints = {"beam": 10, "required": _REQUIRED.split()}
    return [
        LongRequest("constraints", "/v1/translate", {**text, **constraints}, {**plain, "required": ["coche"]}),
        LongRequest("beam", "/v1/translate", {**text, "beam": 10, "n_best": 10}, plain),
        LongRequest("alternatives", "/translate", {**query, "alternatives": 9}, short_query),
        LongRequest("HTML", "/translate", {**query, "format": "html"}, {**short_query, "format": "html"}),
        LongRequest("score", "/v1/score", {**_PAIR, "pairs": pairs}, {**_PAIR, "pairs": pairs[:1]}),
    ]


def num_batches(url: str) -> float:
    """Return how many batches were translated."""
    match = _BATCHES.search(requests.get(f"{url}/metrics", timeout=60).text)
    assert match is not None
    return float(match[1])


def faults_of(url: str, request: LongRequest, seconds: float | None) -> list[str]:
    """Send a request, and wait for its 504, or leave after some seconds; return what is wrong."""
    address, faults = f"{url}{request.path}", []
    try:
        answer = requests.post(address, json=request.body, timeout=600 if seconds is None else seconds)
        if answer.status_code != 504:
            faults.append(f"{request.name}: {answer.status_code} instead of 504: {answer.text[:200]}")
    except requests.exceptions.ReadTimeout:
        time.sleep(1)  # the server looks at the connection a few times in a second
    before = num_batches(url)
    answer = requests.post(address, json=request.short, timeout=600)
    if answer.status_code != 200:
        faults.append(f"{request.name}: the next client got {answer.status_code}: {answer.text[:200]}")
    count = num_batches(url) - before
    if count > _MOST_BATCHES:
        faults.append(f"{request.name}: {count:g} batches after the request was given up")
    return faults


def attack(seconds: float) -> list[str]:
    """Send all requests to a server with this time limit, and once more with clients that leave; return the faults."""
    with listening({"queue": {"time_limit": seconds}, "has_pages": False}) as url:
        requests_of_all = long_requests()
        for request in requests_of_all:  # load the models and their packages
            while requests.post(f"{url}{request.path}", json=request.short, timeout=600).status_code == 504:
                pass
        faults = [fault for request in requests_of_all for fault in faults_of(url, request, None)]
        return faults + [fault for request in requests_of_all for fault in faults_of(url, request, seconds / 2)]


def main() -> None:
    """Attack a server of one's own, and print the faults."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30.0, help="the time limit of a request")
    faults = attack(parser.parse_args().seconds)
    print("\n".join(faults) or "No fault.")
    raise SystemExit(1 if faults else 0)


if __name__ == "__main__":
    main()

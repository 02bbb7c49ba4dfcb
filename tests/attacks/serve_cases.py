"""Requests that schemathesis makes from the server's own description, right ones and wrong ones, against a real server.

No answer may be a 5xx but the 503 of a full queue, none may have a status that the description does not have, and every
error is {"error": sentence}. In a test 300 cases are enough; by hand: python -m tests.attacks.serve_cases --cases 10000
"""

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from schemathesis import GenerationMode

from tests.unit.serve.small_app import listening

_SECONDS = 30.0  # the longest time that an answer may take
_STREAMS = ("/events",)  # answers that do not end by themselves


@dataclass
class FuzzReport:
    """How many cases there were, the answers by path and status, and what was wrong."""

    num_cases: int = 0
    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    faults: dict[str, str] = field(default_factory=dict)  # a fault of each kind, with the request

    def add(self, name: str, documented: Sequence[str], response: Any, seconds: float, request: str) -> None:
        """Note an answer, and what is wrong with it."""
        self.num_cases += 1
        status = response.status_code
        self.answers[name, status] += 1
        if status >= 500 and status != 503:
            self.faults.setdefault(f"{name}: status {status}: {response.text[:300]}", request)
        if str(status) not in documented:
            self.faults.setdefault(f"{name}: status {status} is not documented: {response.text[:200]}", request)
        if status >= 400 and not _is_error_body(response):
            self.faults.setdefault(
                f"{name}: the body of status {status} is not an error: {response.text[:200]}", request
            )
        if seconds > _SECONDS:
            self.faults.setdefault(f"{name}: took {seconds:.0f} s", request)

    def __str__(self) -> str:
        """Return the tally as Markdown."""
        paths: dict[str, list[str]] = {}
        for (path, status), count in sorted(self.answers.items()):
            paths.setdefault(path, []).append(f"{status}: {count:,}")
        rows = [f"| {path} | {', '.join(counts)} |" for path, counts in paths.items()]
        found = [f"- {fault}\n  {request}" for fault, request in self.faults.items()] or ["No fault."]
        return "\n".join([f"{self.num_cases:,} cases", "", "| call | answers |", "|---|---|", *rows, "", *found])


def _is_error_body(response: Any) -> bool:
    try:
        content = response.json()
    except ValueError:
        return False
    return isinstance(content, dict) and isinstance(content.get("error"), str) and bool(content["error"])


def attack(url: str, num_cases: int, number: int = 1) -> FuzzReport:
    """Send about so many requests to the server at an address."""
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    operations = [operation.ok() for operation in schema.get_all_operations()]
    operations = [operation for operation in operations if not operation.path.endswith(_STREAMS)]
    report = FuzzReport()
    num_varied = sum(1 for operation in operations if _has_input(operation))
    each = max(1, round(num_cases / num_varied / 2))  # right requests, and as many wrong ones
    with requests.Session() as session:
        for operation in operations:
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                _attack_operation(operation, mode, report, session, each, number)
    return report


def _has_input(operation: Any) -> bool:
    """Return whether requests can differ: of the others there is one case."""
    raw = operation.definition.raw
    return bool(raw.get("requestBody") or raw.get("parameters"))


def _attack_operation(
    operation: Any, mode: GenerationMode, report: FuzzReport, session: requests.Session, num_cases: int, number: int
) -> None:
    name = f"{operation.method.upper()} {operation.path}"
    documented = list(operation.definition.raw["responses"])

    @seed(number)
    @settings(
        max_examples=num_cases,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        start = time.perf_counter()
        response = case.call(session=session, timeout=120)
        report.add(name, documented, response, time.perf_counter() - start, case.as_curl_command()[:2000])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries, about rare strategies
        try:
            send()
        except Exception as wrong:  # an operation without wrong requests has no cases
            if type(wrong).__name__ not in ("Unsatisfiable", "SkipTest"):
                report.faults.setdefault(f"{name}: {type(wrong).__name__}: {str(wrong)[:300]}", "")


def main() -> None:
    """Attack a server of one's own, and print the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with listening({"explain": {"max_tokens": 20}}) as url:
        report = attack(url, options.cases, options.seed)
    print(report)
    raise SystemExit(1 if report.faults else 0)


if __name__ == "__main__":
    main()

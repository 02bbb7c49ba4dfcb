"""Which test file executes which lines of clearhead? A pytest plugin that records it, and a reader of what it records.

The plugin measures lines with coverage and calls each test file a context. A fixture of the whole session is a context
too: only the first test that needs it runs it, but all files that use it depend on its lines. Other processes than
those of pytest are not measured. Seconds are of the CPU, so that a busy machine changes little.
"""

import json
import os
from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import coverage
import pytest

FOLDER = "EXECUTED_LINES"  # the environment variable with the folder that is written
LINES, SUMMARY = "lines", "tests.json"  # the names of its files
_FIXTURE = "fixture "


def pytest_configure(config: pytest.Config) -> None:
    """Measure lines in each process that runs tests, and collect the reports in the one that started them."""
    folder = Path(os.environ[FOLDER])
    worker = getattr(config, "workerinput", {}).get("workerid")
    if worker or not config.option.numprocesses:
        config.pluginmanager.register(_Measurement(folder / f"{LINES}.{worker or 'only'}"))
    if not worker:
        config.pluginmanager.register(_Summary(folder / SUMMARY))


class _Measurement:
    """Measures lines, in the context of the test file or the session fixture that is running."""

    def __init__(self, path: Path) -> None:
        self._coverage = coverage.Coverage(data_file=str(path), source_pkgs=["clearhead"], messages=False)
        self._coverage.start()
        self._context = ""
        self._start = 0.0  # of the part of a test that is running: setup, call or teardown
        self._fixture_seconds: dict[str, float] = {}  # of the session fixtures that this part is the first to need

    def _switch(self, context: str) -> None:
        if context != self._context:  # it writes the lines to the file, so not for every test
            self._coverage.switch_context(context)
            self._context = context

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        if isinstance(collector, pytest.Module):
            self._switch(collector.nodeid)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> Generator[None, Any, Any]:
        self._switch(_file_of(item.nodeid))
        self._fixture_seconds, self._start = {}, _cpu_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Function) -> Generator[None, Any, Any]:
        report = yield
        manager = item.session._fixturemanager
        report.shared = [name for name in item.fixturenames if _is_shared(manager.getfixturedefs(name, item))]
        report.shared_seconds, self._fixture_seconds = self._fixture_seconds, {}
        start, self._start = self._start, _cpu_seconds()
        report.cpu_seconds = self._start - start - sum(report.shared_seconds.values())
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        if fixturedef.scope != "session":
            return (yield)
        outer, start, nested = self._context, _cpu_seconds(), sum(self._fixture_seconds.values())
        self._switch(_FIXTURE + fixturedef.argname)
        try:
            return (yield)
        finally:
            self._switch(outer)
            nested = sum(self._fixture_seconds.values()) - nested
            self._fixture_seconds[fixturedef.argname] = _cpu_seconds() - start - nested

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        self._coverage.save()


class _Summary:
    """Collects the seconds and session fixtures of each test file, the seconds of those fixtures, and failed tests."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seconds: dict[str, float] = defaultdict(float)
        self._fixtures: dict[str, set[str]] = defaultdict(set)
        self._fixture_seconds: dict[str, float] = {}
        self._failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file = _file_of(report.nodeid)
        if report.failed:
            self._failed.add(report.nodeid)
        if hasattr(report, "shared"):  # not if the process has crashed
            self._seconds[file] += report.cpu_seconds
            self._fixtures[file].update(report.shared)
            self._fixture_seconds |= report.shared_seconds

    def pytest_sessionfinish(self) -> None:
        seconds = {file: round(value, 2) for file, value in sorted(self._seconds.items())}
        fixtures = {file: sorted(names) for file, names in sorted(self._fixtures.items()) if names}
        fixture_seconds = {name: round(value, 2) for name, value in sorted(self._fixture_seconds.items())}
        summary = {
            "seconds": seconds, "fixtures": fixtures, "fixture_seconds": fixture_seconds, "failed": sorted(self._failed)
        }  # fmt: skip
        self._path.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class TestMap:
    """Which test files execute a line, and what each of them costs."""

    __test__ = False  # pytest would collect it
    tests: dict[str, dict[int, set[str]]]  # by source file and line
    seconds: dict[str, float]
    fixtures: dict[str, list[str]]
    fixture_seconds: dict[str, float]
    failed: list[str]

    @classmethod
    def read(cls, folder: Path) -> "TestMap":
        """Read what the plugin wrote."""
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        files = {name: {name} for name in summary["seconds"]}
        for name, fixtures in summary["fixtures"].items():
            for fixture in fixtures:
                files.setdefault(_FIXTURE + fixture, set()).add(name)
        tests: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for path in sorted(folder.glob(f"{LINES}.*")):
            data = coverage.CoverageData(str(path))
            data.read()
            for source in data.measured_files():
                name = source.rpartition("/clearhead/")[2]
                for row, contexts in data.contexts_by_lineno(source).items():
                    tests[name][row].update(*(files.get(context, ()) for context in contexts))
        return cls(tests=tests, **summary)

    def tests_of(self, file: str, rows: range) -> list[str]:
        """Return the test files that execute any of some lines, the nearest first and then the quickest."""
        names = set().union(*(self.tests.get(file, {}).get(row, ()) for row in rows))
        return sorted(names, key=lambda name: (_distance(file, name), self.seconds[name], name))

    def chosen(self, names: list[str], seconds: float) -> tuple[list[str], float]:
        """Return the test files that together take so many seconds, at least the first, and what they take."""
        chosen: list[str] = []
        fixtures: set[str] = set()
        total = 0.0
        for name in names:
            needed = set(self.fixtures.get(name, ())) - fixtures
            cost = self.seconds[name] + sum(self.fixture_seconds.get(fixture, 0.0) for fixture in needed)
            if not chosen or total + cost <= seconds:
                chosen.append(name)
                fixtures |= needed
                total += cost
        return chosen, total


def _distance(file: str, test: str) -> int:
    """Return 0 for the tests of a source file, 1 for those of its folder, then of its package, unit tests, others."""
    source, folder = PurePosixPath("tests/unit") / file, PurePosixPath(test).parent
    nearness = (
        source.with_name(f"test_{source.name}") == PurePosixPath(test),
        source.parent == folder,
        folder.parts[:3] == source.parts[:3],
        folder.parts[:2] == source.parts[:2],
        True,
    )
    return nearness.index(True)


def _cpu_seconds() -> float:
    """Return the seconds of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def _file_of(node: str) -> str:
    return node.split("::")[0]


def _is_shared(definitions: Any) -> bool:
    return bool(definitions) and definitions[-1].scope == "session"

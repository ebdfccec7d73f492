"""CPU times of the test cases, and the budget of a daily one.

``tests/case_times.txt`` has a line for each case that takes more than `BUDGET_S` with a warm cache, and none for the
others, so that its changes are few. ``make test-times`` measures it: where the environment variable
``TAPEGRAD_CASE_TIMES`` is set, a run rewrites the lines of the cases that it runs.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FILE = ROOT / "tests" / "case_times.txt"
IS_MEASURED = "TAPEGRAD_CASE_TIMES" in os.environ
BUDGET_S = 0.3  # of the dearest 3 % of the cases, which took half of the time
MAX_DAILY_S = 1.0  # of the only case of its function; longer ones are named at the end of a daily run
MAX_REPORTED_CASES = 10
CHEAP_S = 0.02  # mean of the cases within the budget
COLLECTED = pytest.StashKey[set[str]]()  # node ids of all collected cases, selected or not


def read_times() -> dict[str, float]:
    """Return the CPU seconds of the cases over the budget, by node id."""
    lines = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
    pairs = [line.split(" ", 1) for line in lines]
    return {name: float(seconds) for seconds, name in pairs}


def written_lines(times: Mapping[str, float]) -> list[str]:
    """Return the lines of the file: sorted by node id, so that a case keeps its place."""
    return [f"{seconds:.1f} {name}" for name, seconds in sorted(times.items())]


def file_of(name: str) -> str:
    """Return the test file of a node id."""
    return name.partition("::")[0]


def function_of(name: str) -> str:
    """Return the test function of a node id."""
    return name.partition("[")[0]


def over_budget(daily_cases: set[str], times: Mapping[str, float]) -> set[str]:
    """Return the cases that are too dear to be daily.

    Where all cases of a function are over the budget, the cheapest one is daily if it takes at most `MAX_DAILY_S`, or
    if it is a test of the whole package, which has no other. A file keeps its cheapest case in any case.
    """
    of_functions = _cheapest(daily_cases, times, function_of)
    spared = {name for name in of_functions if times.get(name, 0.0) <= MAX_DAILY_S or is_of_the_package(name)}
    return times.keys() & daily_cases - spared - _cheapest(daily_cases, times, file_of)


def is_of_the_package(name: str) -> bool:
    """Return whether a case is of the whole package: its file stands above the folders of the rooms."""
    return file_of(name).count("/") == 1


def _cheapest(names: Iterable[str], times: Mapping[str, float], kind_of: Callable[[str], str]) -> set[str]:
    """Return the cheapest case of each kind: cases within the budget are, where there are some."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for name in names:
        kinds[kind_of(name)].append(name)
    # All processes choose the same one of equally dear cases.
    return {min(cases, key=lambda name: (times.get(name, 0.0), name)) for cases in kinds.values()}


def sort_dearest_file_first(items: list[pytest.Item]) -> None:
    """Put the dearest files first: a long one that begins last keeps one process busy and the others idle."""
    times = read_times()
    costs: Counter[str] = Counter()
    for item in items:
        costs[file_of(item.nodeid)] += times.get(item.nodeid, CHEAP_S)
    items.sort(key=lambda item: -costs[file_of(item.nodeid)])


# --- measurement -------------------------------------------------------------------------------------------------


def cpu_s() -> float:
    """Return the CPU seconds of this process and of the children that it has waited for."""
    return sum(os.times()[:4])  # in ticks of 10 ms


class CaseTimes:
    """Plugin of pytest that measures each case with its own fixtures."""

    def __init__(self, is_daily: bool) -> None:
        self._is_daily = is_daily
        self._last_s = 0.0  # CPU time at the end of the previous phase
        self._times: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        """Begin to measure a case."""
        self._last_s = cpu_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        """Leave out the fixtures that cases share: another case would pay for them."""
        begin_s = cpu_s()
        value = yield
        if fixturedef.scope != "function":
            self._last_s += cpu_s() - begin_s
        return value

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the CPU time of a phase to its report: xdist passes the attribute on to the main process."""
        report = yield
        now_s = cpu_s()
        report.cpu_s, self._last_s = now_s - self._last_s, now_s
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Sum the phases of a case, unless no other run has it."""
        if "anew" not in report.keywords:
            self._times[report.nodeid] += getattr(report, "cpu_s", 0.0)  # a worker that dies attaches none

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Rewrite the lines of the files that were run."""
        if IS_MEASURED and not hasattr(session.config, "workerinput"):
            FILE.write_text("".join(f"{line}\n" for line in written_lines(self._updated())), encoding="utf-8")

    def _updated(self) -> dict[str, float]:
        """Return the measured times over the budget, and the known ones of other cases.

        A daily run leaves the lines of cases that are not daily; a run of all cases drops those of cases that are gone.
        """
        files = set() if self._is_daily else {file_of(name) for name in self._times}
        others = {
            name: seconds
            for name, seconds in read_times().items()
            if name not in self._times and file_of(name) not in files and (ROOT / file_of(name)).exists()
        }
        return others | {name: seconds for name, seconds in self._times.items() if seconds > BUDGET_S}

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name daily cases far over the budget that the file does not know."""
        unknown = self._times.keys() - read_times().keys() if self._is_daily else set()
        dear = [(self._times[name], name) for name in unknown if self._times[name] > MAX_DAILY_S]
        if dear:
            terminalreporter.section(
                f"{len(dear)} daily cases over {MAX_DAILY_S:.0f} s of CPU, compilation included"
            )
            for seconds, name in sorted(dear, reverse=True)[:MAX_REPORTED_CASES]:
                terminalreporter.write_line(f"{seconds:6.1f} s {name}")
            terminalreporter.write_line("If they take as long with a warm cache: make test-times")

"""Every tape that a test builds is checked: before each sweep, before each recording is replayed, and at the end.

Cases that are not in the daily selection (helpers/daily.py) are deselected, unless TAPEGRAD_TESTS says otherwise.
"""

import gc
import math
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest
from hypothesis import settings

import tapegrad as tg
from helpers import case_times, daily, lambda_texts
from tapegrad.engine import guard_pages
from tapegrad.engine.inspection import verify
from tapegrad.transforms.calling import watching_cost

# An eighth of what Linux grants a process; a single test takes up to a half.
MANY_MAPPINGS = 8_000

settings.register_profile("tapegrad", daily.examples(100))
settings.load_profile("tapegrad")


def pytest_configure(config: pytest.Config) -> None:
    """Draw the seed of the random programs once, for all processes, and measure the cases. Let pytest write bytecode.

    Without bytecode every process rewrites the assertions of 340 files anew: 10 s.
    """
    sys.dont_write_bytecode = False
    os.environ.setdefault(daily.SEED, str(daily.default_seed()))
    daily.check_selection()
    config.pluginmanager.register(case_times.CaseTimes(daily.IS_DAILY))


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a case with a lambda by its text: all are `<lambda>` to pytest, and a line number moves with each edit."""
    if isinstance(val, FunctionType) and val.__name__ == "<lambda>":
        return lambda_texts.text_of_lambda(val)
    return None


def pytest_report_header() -> str:
    """Say which selection runs, and how to repeat it."""
    part = "" if daily.PARTS == 1 else f"1/{daily.PARTS} of the "
    selections = "TAPEGRAD_TESTS: daily, rest or all, or a part, as in rest/8"
    return f"{part}{daily.SELECTION} cases ({selections}), {daily.SEED}={os.environ[daily.SEED]}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what another selection runs. Processes share the tests file by file, the dearest first."""
    config.stash[case_times.COLLECTED] = {item.nodeid for item in items}
    left_out = daily.left_out(items, is_whole=config.args == config.getini("testpaths"))
    config.hook.pytest_deselected(items=left_out)
    gone = set(left_out)
    items[:] = [item for item in items if item not in gone]
    if hasattr(config, "workerinput"):
        case_times.sort_dearest_file_first(items)


@pytest.fixture(autouse=True, scope="session")
def bytecode() -> None:
    """Let processes that tests start write bytecode: without it an import of the package takes twice as long."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(autouse=True, scope="module")
def few_objects() -> None:
    """Leave what there is, all tests and loaded kernels, out of the garbage collections that a file's tests ask for."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def room_for_guard_pages() -> None:
    """Let go of what only the collector frees before a process has no more mappings: each block takes two or three."""
    maps = Path("/proc/self/maps")
    if guard_pages.on and maps.exists() and maps.read_bytes().count(b"\n") > MANY_MAPPINGS:
        gc.collect()


@pytest.fixture(autouse=True)
def legal_tapes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check all tapes of a test."""
    monkeypatch.setattr(verify.switch, "on", True)
    yield
    tg.check_tape()


@pytest.fixture(autouse=True, scope="session")
def untimed() -> None:
    """Leave out a warning that depends on how busy the machine is."""
    watching_cost.CHEAP_NS = math.inf


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Return a generator seeded by the name of the case: what a case draws does not depend on the cases before it."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture
def uncertified(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that count executions, programs or memory, or break a pass: no program is certified by default."""
    monkeypatch.setattr(verify.switch, "derivatives", False)


@pytest.fixture
def plain_memory() -> None:
    """For tests of sizes, and of more blocks than a system lays apart."""
    if guard_pages.on:
        pytest.skip("memory is laid between guard pages")

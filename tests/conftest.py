"""Every tape that a test builds is checked: before each sweep, before each recording is replayed, and at the end."""

import gc
import math
import os
from collections.abc import Iterator

import pytest

import tapegrad as tg
from tapegrad.engine import guard_pages
from tapegrad.engine.inspection import verify
from tapegrad.transforms.calling import watching_cost


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
def plain_memory() -> None:
    """For tests of sizes, and of more blocks than a system lays apart."""
    if guard_pages.on:
        pytest.skip("memory is laid between guard pages")

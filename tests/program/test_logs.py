"""Loggers: what is recorded, which guards fail, what fuses and what is compiled; nothing of it where they are off."""

import logging
import os
import re
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.engine.runtime.messages import logs
from tapegrad.engine.runtime.pace import pace_beside, working
from tapegrad.engine.runtime.short_times import quantity

SCALE = 2.0
_BOUND = r"forward of scaled was derived, planned and bound: \d+ rows in [\d.]+ (us|ms|s)"


def _text(caplog: pytest.LogCaptureFixture, logger: logging.Logger) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == logger.name]


def scaled(x: Any) -> Any:
    return tg.sum(x * SCALE) if tg.sum(x) > 0 else tg.sum(tg.sin(x))


def test_recordings_guards_and_captured_state(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG, "tapegrad")
    f = tg.jit(scaled)
    f(np.ones(3))
    f(-np.ones(3))
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert f(np.ones(3)) == 9
    found = _text(caplog, logs.RECORDINGS)
    first, second, third = found[::2]
    assert all(re.fullmatch(_BOUND, line) for line in found[1::2])
    assert first.startswith("scaled was recorded for argument 0: (3,) float64: ")
    assert first.endswith("(first call)")
    assert "instructions in" in first
    assert "guard failed: " in second
    assert "global SCALE changed" in third
    failed, changed = _text(caplog, logs.GUARDS)
    assert "scaled: a guard of recording 1 failed, " in failed
    assert "test_logs.py" in failed
    assert failed.endswith("none of its recordings holds")
    assert changed == "scaled: global SCALE changed, its recordings are dropped"


@pytest.mark.parametrize(("fuse", "told"), [(True, "is fused: "), (False, "fusion is off")])
def test_fusion(caplog: pytest.LogCaptureFixture, fuse: bool, told: str) -> None:
    caplog.set_level(logging.INFO, "tapegrad.fusion")
    tg.value_and_grad(tg.jit(scaled, fuse=fuse))(np.ones(3))
    assert any(told in line and "value_and_grad of" in line for line in _text(caplog, logs.FUSION))


def test_fusion_in_the_background_is_said_to_be(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tapegrad.fusion")

    def work() -> None:
        with working(pace_beside(1e-3)):
            tg.jit(scaled, fuse=True)(np.ones(4))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert any(line.endswith("in the background") for line in _text(caplog, logs.FUSION))


def test_loggers_that_are_off_compute_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels are asked before anything is computed for a record."""
    for logger in (logs.RECORDINGS, logs.GUARDS, logs.FUSION, logs.COMPILATION):
        monkeypatch.setattr(logger, "disabled", True)
    monkeypatch.setattr(logs, "log", lambda *args, **kwargs: pytest.fail(f"logged {args}"))
    f = tg.jit(scaled)
    assert (f(np.ones(2)), f(np.ones(2))) == (4, 4)
    f(-np.ones(2))


def test_a_handler_that_fails_stops_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    class Failing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise RuntimeError("full disk")

    handler = Failing()
    logs.RECORDINGS.addHandler(handler)
    before = logs.RECORDINGS.level
    logs.RECORDINGS.setLevel(logging.DEBUG)
    try:
        assert tg.jit(scaled)(np.ones(2)) == 4
    finally:
        logs.RECORDINGS.removeHandler(handler)
        logs.RECORDINGS.setLevel(before)
    assert "full disk" in capsys.readouterr().err


_PROGRAM = """
import numpy as np, tapegrad as tg
f = tg.jit(lambda x: tg.sum(tg.sin(x) * 2))
f(np.ones(3))
"""


@pytest.mark.parametrize(
    ("chosen", "told", "silent"),
    [
        (
            "recordings,compilation,debug",
            ("tapegrad.recordings: ", "tapegrad.compilation: "),
            ("tapegrad.fusion", "no logger"),
        ),
        (" All", ("tapegrad.recordings: ", "tapegrad.fusion: "), ("no logger", "read from the cache")),
        ("debug", ("tapegrad.recordings: ", "read from the cache in "), ("no logger",)),
        ("recording", ("TAPEGRAD_LOG=recording: no logger recording; there are recordings, ",), ("lambda",)),
        ("", (), ("tapegrad",)),
    ],
)
def test_variable_writes_records_to_stderr(chosen: str, told: tuple[str], silent: tuple[str]) -> None:
    environment = {**os.environ, "TAPEGRAD_LOG": chosen}
    run = [sys.executable, "-c", _PROGRAM]
    found = subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stderr
    assert all(each in found for each in told), found
    assert not any(each in found for each in silent), found
    assert all(line.startswith("tapegrad") for line in found.splitlines())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_logs() -> None:
    program = _PROGRAM + "import os\nif os.fork() == 0:\n    f(np.ones(5)); os._exit(0)\nos.wait()"
    environment = {**os.environ, "TAPEGRAD_LOG": "recordings"}
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stderr.count(" was recorded for ") == 2
    assert found.stderr.count("was derived, planned and bound") == 2


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0.0, "0 ns"), (-3.2, "-3 ns"), (999.4, "999 ns"), (999.6, "1 us"), (12_345.0, "12.3 us"), (999_600.0, "1 ms"),
        (1.5e6, "1.5 ms"), (9.33e9, "9.33 s"), (999.7e9, "1,000 s"), (1.2345e13, "12,345 s"),
    ],
)  # fmt: skip
def test_times_have_a_suitable_unit(ns: float, text: str) -> None:
    assert quantity(ns) == text

"""Ctrl-C, as a real signal to another process: optimisers return what they have found, a second one is raised."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.daily import daily
from tapegrad.optimize.searches import interruption

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise")

# Searches that would go on for minutes; each has run before with a limit of evaluations, so that all is compiled. The
# signal is sent once a search has looked several times whether to show its progress, as all of them do between
# evaluations: it has a point then, however busy the machine is.
SEARCHES = """
import itertools, json, os, signal, sys, threading, time
import numpy as np, tapegrad as tg
from tapegrad.engine.runtime.messages.progress import Progress
from tapegrad.optimize.searches import interruption

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started with SIGINT ignored
def rosenbrock(x):
    return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
def residuals(x):
    return [10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]]
draws = np.random.default_rng(0)
long, wide, middle, short = (draws.uniform(-2, 2, size) for size in (100_000, 300, 150, 60))
fewer = middle[:60]
starts = draws.uniform(-2, 2, (5000, 300))
@tg.jit
def ring(x):  # a flat minimum, which Newton's steps halve the distance to, again and again
    return (x - np.roll(x, 1)) ** 2 + x**4
f, r = tg.jit(rosenbrock), tg.jit(residuals)
NATIVE = {"ftol": 0, "gtol": 0}
TIGHT = {"ftol": None, "xtol": None, "gtol": 3e-16}
def minimize(x0, limit, method, **options):
    names = ("maxiter", "maxfun") if method.startswith("native") or method == "L-BFGS-B" else ("maxiter",)
    given = {**dict.fromkeys(names, limit), **(NATIVE if method.startswith("native") else {})}
    return tg.optimize.minimize(f, x0, method=method, options=given, **options)
def room(x):
    time.sleep(0.02)  # no search comes to the end of some 1,000 of these before the signal
    return 4.0 * len(x) - x @ x
ball = {"type": "ineq", "fun": room, "jac": lambda x: -2.0 * x}
SEARCHES = {
    "native": lambda limit: minimize(long, limit, "native"),
    "native-newton": lambda limit: minimize(long, limit, "native-newton"),
    "L-BFGS-B": lambda limit: minimize(long, limit, "L-BFGS-B"),
    "Nelder-Mead": lambda limit: minimize(short, limit, "Nelder-Mead", tol=1e-300),
    "Newton-CG": lambda limit: minimize(long, limit, "Newton-CG"),
    "SLSQP": lambda limit: minimize(middle, limit, "SLSQP", constraints=[ball], tol=1e-300),
    "trust-constr": lambda limit: minimize(middle, limit, "trust-constr", constraints=[ball], tol=1e-300),
    "starts": lambda limit: minimize(None, limit, "native", starts=starts, threads=1),
    "starts on threads": lambda limit: minimize(None, limit, "native-newton", starts=starts, threads=2),
    "least_squares native": lambda limit: tg.optimize.least_squares(
        r, wide, method="native", ftol=1e-300, xtol=None, gtol=None, max_nfev=limit, steps="geodesic"),
    "least_squares sparse": lambda limit: tg.optimize.least_squares(
        ring, long, method="native", sparse=True, ftol=1e-300, xtol=None, gtol=None, max_nfev=limit),
    "least_squares trf": lambda limit: tg.optimize.least_squares(
        r, fewer, max_nfev=limit, loss="soft_l1", bounds=(-5.0, 5.0), **TIGHT),
    "least_squares lm": lambda limit: tg.optimize.least_squares(
        r, wide, method="lm", max_nfev=limit, **{**TIGHT, "ftol": 3e-16, "xtol": 3e-16}),
}
def interrupted(search, signals=1):
    under_way, over, looks = threading.Event(), threading.Event(), itertools.count()
    def due(line):
        if next(looks) == 5:
            under_way.set()
        return False
    def send():
        under_way.wait()
        for _ in range(signals):
            if not over.wait(0.01):  # the later ones come while the first one is handled
                os.kill(os.getpid(), signal.SIGINT)
    Progress.due = property(due)
    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    try:
        return search(10**9)
    finally:
        outlast(sender, over, under_way)
def outlast(sender, *events):  # signals that come when the search has ended are nobody's
    try:
        for event in events:
            event.set()
        sender.join()
        time.sleep(0.001)  # where the last one is raised
    except KeyboardInterrupt:
        outlast(sender, *events)
def outcome(name):
    search = SEARCHES[name]
    search(8)
    interruption.interrupts._latest = -np.inf
    began = time.perf_counter()
    try:
        result = interrupted(search)
    except KeyboardInterrupt:
        return {"raised": True}
    seconds = time.perf_counter() - began
    found = {"seconds": seconds, "status": int(result.status), "message": result.message,
             "success": bool(result.success), "nfev": int(result.nfev)}
    x = result.x
    if "sparse" in name:
        found["value"], found["right"] = float(result.cost), 0.5 * float(np.sum(ring(x) ** 2))
        found["start"], found["kept"] = 0.5 * float(np.sum(ring(long) ** 2)), bool(np.allclose(result.fun, ring(x)))
    elif "least" in name:
        found["value"], found["right"] = float(result.cost), float(search_cost(name, x))
        found["start"] = float(search_cost(name, fewer if "trf" in name else wide))
        found["kept"] = bool(np.allclose(result.fun, tg.optimize.residuals(r, x).fun(x)))
    else:
        found["value"], found["right"] = float(result.fun), float(f(x))
        found["kept"] = bool(np.array_equal(result.jac, tg.grad(f)(x))) if "jac" in result else True
        if "starts" in name:
            ended = result.all_status != 99
            found["start"] = float(f(starts[0]))
            found["ended"] = int(ended.sum())
            found["kept"] &= bool(np.isfinite(result.all_x[ended]).all() and np.isnan(result.all_x).any())
        else:
            found["start"] = float(f({"Nelder-Mead": short, "SLSQP": middle, "trust-constr": middle}.get(name, long)))
    return found
def search_cost(name, x):
    z = tg.optimize.residuals(r, x).fun(x) ** 2
    return 0.5 * np.sum(2 * (np.sqrt(1 + z) - 1) if "trf" in name else z)
"""
SERVE = """
for line in sys.stdin:
    print(json.dumps(outcome(line.strip())), flush=True)
"""
NAMES = (
    "native",
    "native-newton",
    "L-BFGS-B",
    "Nelder-Mead",
    "Newton-CG",
    "SLSQP",
    "trust-constr",
    "starts",
    "starts on threads",
    "least_squares native",
    "least_squares sparse",
    "least_squares trf",
    "least_squares lm",
)


def run(program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ})


Outcome = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    """Run a search by its name in another process, and interrupt it."""
    process = subprocess.Popen(
        [sys.executable, "-c", SEARCHES + SERVE], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    def ask(name: str) -> dict[str, Any]:
        print(name, file=stdin, flush=True)
        found: dict[str, Any] = json.loads(stdout.readline())
        return found

    yield ask
    stdin.close()
    process.wait(300)
    stdout.close()


@daily(every=3)
@pytest.mark.parametrize("name", NAMES)
def test_what_was_found_is_returned(name: str, outcome: Outcome) -> None:
    found = outcome(name)
    assert "raised" not in found
    assert found["message"].startswith("interrupted")
    assert found["status"] == (-2 if "least_squares" in name else 99)
    assert not found["success"]
    assert found["value"] == pytest.approx(found["right"], rel=1e-12)
    assert found["value"] <= found["start"] or name == "SLSQP"  # whose first iterates are no better
    assert found["kept"]
    assert found["nfev"] > 0
    assert found["seconds"] < 60.0  # of a search that would run for hours


# The signal is sent when some fits have ended, and while others are left.
CURVES = """
import json, os, signal
import numpy as np, tapegrad as tg
from tapegrad.optimize.native import sharing

signal.signal(signal.SIGINT, signal.default_int_handler)
sharing._PROGRESS_INTERVAL_S = 0.001
def peak(t, height, center, width):
    z = ((t - center) / width) ** 2
    for _ in range(60):  # the same value, so that all fits take many seconds
        z = np.log1p(np.expm1(z))
    return height * np.exp(-z)
def interrupt(done, count):
    if done:
        os.kill(os.getpid(), signal.SIGINT)
draws, t = np.random.default_rng(0), np.linspace(-3, 3, 25)
rows = np.exp(-((t - draws.uniform(-1, 1, (200_000, 1))) ** 2)) + 0.05 * draws.normal(size=(200_000, 25))
result = tg.optimize.curve_fit(peak, t, rows, [0.8, 0.1, 1.2], threads=2, progress=interrupt)
ended = result.status != -2
found = {"all": ended.all(), "some": ended.any(), "finite": np.isfinite(result.x[ended]).all(),
         "without covariance": np.isnan(result.cov[~ended]).all()}
print(json.dumps({name: bool(value) for name, value in found.items()}))
"""


def test_fits_that_have_ended_stay() -> None:
    done = run(CURVES)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"all": False, "some": True, "finite": True, "without covariance": True}


def test_a_second_interrupt_follows_within_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([10.0, 12.5, 14.4, 16.5])
    monkeypatch.setattr(interruption, "time", SimpleNamespace(monotonic=lambda: next(times)))
    interrupts = interruption.Interrupts()
    assert [interrupts.is_second() for _ in range(4)] == [False, False, True, False]


SECOND = """
interruption._SECOND_S = np.inf
SEARCHES["native"](8)
seen = []
try:
    for _ in range(3):
        seen.append(interrupted(SEARCHES["native"]).message[:11])
except KeyboardInterrupt:
    print(seen)
"""
APART = """
interruption._SECOND_S = 0.0
SEARCHES["native"](8)
print([interrupted(SEARCHES["native"]).message[:11] for _ in range(2)])
"""
THREADS = """
slow = draws.uniform(-2, 2, (4, 300_000))
minimize(None, 2, "native", starts=slow, threads=2)
def many(limit):
    return minimize(None, limit, "native", starts=slow, threads=2)
try:
    interrupted(many, signals=4)
except KeyboardInterrupt:
    pass
rubbish = [np.full(1_000_000, 7.0) for _ in range(10)]  # where the sessions were
time.sleep(0.5)
print(sum(array.sum() for array in rubbish))
"""
NOTHING = """
def slow(x):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.2)
    return tg.sum(x**2)
try:
    tg.optimize.minimize(slow, [1.0, 2.0])
except KeyboardInterrupt:
    print("raised")
"""


@daily(every=4)
@pytest.mark.parametrize(
    ("program", "expected"),
    [
        pytest.param(
            SECOND, "['interrupted']\n", id="a second one within 2 s ends a script of many searches"
        ),
        pytest.param(APART, "['interrupted', 'interrupted']\n", id="later ones are caught like the first"),
        pytest.param(THREADS, "70000000.0\n", id="threads have left their sessions before these are closed"),
        pytest.param(NOTHING, "raised\n", id="nothing was found"),
    ],
)
def test_interrupts(program: str, expected: str) -> None:
    done = run(SEARCHES + program)
    assert (done.returncode, done.stdout) == (0, expected), done.stderr


def test_a_process_that_is_terminated_ends() -> None:
    """Slices catch nothing but `KeyboardInterrupt`."""
    program = SEARCHES + 'print("ready", flush=True); SEARCHES["native"](10**9)'
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=300)
    assert process.returncode == -signal.SIGTERM

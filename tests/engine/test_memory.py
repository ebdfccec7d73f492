"""Nothing leaks: the tape is empty when nobody holds a Tensor, and memory lives while somebody shows it."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import not_daily
from helpers.memory import leaving_nothing, live
from tapegrad.engine.inspection import verify
from tapegrad.engine.tape.fields.layout import BUFFERS, NONE, ORPHAN, SLOTS
from tapegrad.frontend.tensor.modes import EAGER


@pytest.fixture(autouse=True)
def nothing_left(legal_tapes, monkeypatch):
    """Whatever a test does, afterwards the tape is as it was.

    It is checked then, and not before each sweep: that takes long on long tapes, and other threads would change them
    meanwhile.
    """
    monkeypatch.setattr(verify.switch, "on", False)
    with leaving_nothing():
        yield
    assert EAGER.fields[ORPHAN] == NONE


def forward(x):
    """A computation with every kind of instruction."""
    y = tg.exp(x) * 2 + x[::-1] / 3
    y[1:] = tg.cumsum(x)[:-1]
    y[[0, 2]] *= 2.0
    z = tg.concatenate([y, y[1:] ** 2, tg.where(x > 0, x, 0)])
    with tg.no_grad():
        y[0] = 3.0
    return tg.stack([z, z]).max(axis=0) @ np.ones(z.size) + y.astype("f4").prod()


def test_forward_passes_that_are_never_differentiated():
    x = tg.tensor([1.0, 2.0, 3.0])
    forward(x)
    entries = None
    for _ in range(300):
        forward(x)
        entries = entries or (len(EAGER), EAGER.fields[SLOTS], EAGER.fields[BUFFERS])
        assert (len(EAGER), EAGER.fields[SLOTS], EAGER.fields[BUFFERS]) == entries


def test_forward_and_backward():
    x = tg.tensor([1.0, 2.0, 3.0])
    sizes = set()
    for _ in range(300):
        forward(x).backward()
        sizes.add((len(EAGER), EAGER.fields[SLOTS], EAGER.fields[BUFFERS]))
    assert len(sizes) <= 2


def test_interleaved_graphs():
    """A graph is begun before the one before it ends, for ever."""
    x = tg.tensor([1.0, 2.0, 3.0])
    waiting, largest = forward(x), []
    for k in range(5000):
        started = tg.sin(x * 1.5).sum()
        if k % 2:
            waiting.backward()
        waiting = started
        largest.append(len(EAGER))
    assert max(largest) < 5000
    del waiting, started


def test_tensors_outlive_their_graph():
    x = tg.tensor([1.0, 2.0])
    kept = []
    for _ in range(100):
        y = tg.exp(x)
        (y * y).sum().backward()
        kept.append(y)
    assert all(np.array_equal(y.data, np.exp([1, 2])) for y in kept)
    assert all(np.array_equal(y.grad, 2 * np.exp([1, 2])) for y in kept)
    with pytest.raises(tg.FreedGraphError):
        kept[0].backward()
    assert (kept[0].detach() * x).sum().item() == pytest.approx(np.e + 2 * np.e**2)


def test_graphs_outlive_their_tensors():
    x = tg.tensor([1.0, 2.0])
    y = x
    for _ in range(50):
        y = tg.sin(y) + y * 0.5
    slope, value = np.ones(2), x.data.copy()
    for _ in range(50):
        slope, value = slope * (np.cos(value) + 0.5), np.sin(value) + value * 0.5
    y.backward()
    assert np.allclose(x.grad, slope, rtol=1e-12)


def test_leaves_that_nobody_holds():
    y = tg.tensor([1.0, 2.0]) * tg.asarray(np.ones(2)) * tg.ones(2, constant=True)
    y.backward()
    assert y.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("first", ["base", "view"])
def test_views_and_bases_go_in_any_order(first):
    x = tg.tensor([1.0, 2.0, 3.0])
    base = x * 2
    view = base[1:].reshape(2, 1)
    root = (view * view).sum()
    if first == "base":
        del base
        assert view.data.tolist() == [[4.0], [6.0]]
        assert view.base.data.tolist() == [2.0, 4.0, 6.0]
    else:
        del view
    root.backward()
    assert x.grad.tolist() == [0.0, 16.0, 24.0]


def test_exported_arrays_outlive_their_tensors():
    exported = []
    for k in range(50):
        x = tg.tensor(np.full(200, float(k)))
        y = x * 2
        (y * y).backward()
        exported.append((k, x.grad, x.grad[3:7], y.data, y.grad, y[5:].data, y[::2].grad))
        del x, y
    noise = [tg.ones(200) * 7.0 for _ in range(50)]
    for k, *arrays in exported:
        for array, expected in zip(arrays, (8 * k, 8 * k, 2 * k, 4 * k, 2 * k, 4 * k), strict=True):
            assert (array == expected).all()
    del noise


def test_exported_gradient_stays_when_it_is_replaced():
    x = tg.tensor([1.0, 2.0])
    (x * x).backward()
    first = x.grad
    x.null_grad()
    (x * 7).backward()
    assert first.tolist() == [2.0, 4.0]
    assert x.grad.tolist() == [7.0, 7.0]
    (x * 9).backward(accumulate=False)
    assert x.grad.tolist() == [9.0, 9.0]


def test_exported_data_follows_in_place_writes():
    x = tg.tensor([1.0, 2.0])
    y = x * 1
    data = y.data
    squared = y * y
    y[0] = 5.0
    assert data.tolist() == [5.0, 2.0]
    del y
    squared.backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert data.tolist() == [5.0, 2.0]


def test_written_tensors_leave_no_versions():
    before = len(EAGER)  # what other tests have left
    x = tg.tensor([1.0, 2.0, 3.0])
    for _ in range(200):
        x[1] = x[0] * 0.5
        view = x[1:]
        view += 1.0
    assert len(EAGER) < 2000
    x = None
    view = None
    assert len(EAGER) <= before


def test_updates_under_no_grad_leave_nothing():
    x = tg.tensor([1.0, 2.0, 3.0])
    live_before = None
    for k in range(200):
        old = (x * x).sum()
        with tg.no_grad():
            x -= 0.001
        if k % 3 == 0:
            old.backward()
        assert x.grad is not None
        del old
        live_before = live_before or EAGER.fields[BUFFERS]
        assert EAGER.fields[BUFFERS] <= live_before + 2


COLLECTING = """
import gc
from numba.core import codegen
from tapegrad.engine.codegen.machine import objects
from tapegrad.engine.runtime import switches
rounds, garbage = [], []

def collecting(function):
    def called(*args):
        rounds.append(len(rounds))
        if garbage:
            garbage.pop(0)()
            gc.collect()
        return function(*args)
    return called

objects._find = collecting(objects._find)
if not switches.TRANSLATES:
    for name in ("_object_getbuffer_hook", "_object_compiled_hook"):  # by these LLVM calls Python
        hook = getattr(codegen.CPUCodeLibrary, name).__func__
        setattr(codegen.CPUCodeLibrary, name, classmethod(collecting(hook)))
import numpy as np, tapegrad as tg
gc.disable()

def lost(*values):
    "Leave values in a cycle that nobody holds."
    cycle = list(values)
    cycle.append(cycle)

def lost_recording():
    lost(prepared.pop())

x = tg.tensor([1.0, 2.0])
prepared = [tg.jit(lambda x: x * 2)]
prepared[0](x.data)
lent = tg.asarray(np.ones(3))
lent * 2
hooked = tg.tensor([3.0])
hooked.register_hook(lambda gradient: None)
shown = (tg.ones((1, 2, 3)) * 2).data
held = [lent, hooked, x * x, shown]
del lent, hooked, shown
garbage += [lost_recording, lambda: lost(held.pop()), lambda: lost(held.pop()), lambda: lost(held.pop()),
            lambda: lost(held.pop())]
tg.sum(tg.tanh(x) * tg.exp(x)).backward()
tg.cumsum(tg.sort(tg.log1p(x)))
assert garbage == [], (len(garbage), rounds)
print(x.grad.size)
"""


@pytest.mark.parametrize("translates", ["1", pytest.param("0", marks=not_daily)])
def test_finalisers_run_in_the_middle_of_a_compilation(translates):
    """The collector runs where LLVM calls Python for Numba, and LLVM cannot be entered once more there."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", COLLECTING], env={**os.environ, "TAPEGRAD_TRANSLATE": translates},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr


def test_parameters_of_what_is_not_recorded_go_at_once():
    """An instruction's parameters are a few fields: lost at each of 100,000 of them, they are megabytes."""
    resource = pytest.importorskip("resource")
    x = tg.tensor([1.0, 2.0, 3.0], constant=True)
    x[[0, 2]]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(100_000):
        x[[0, 2]]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2_000


def test_errors_leave_nothing():
    x = tg.tensor(np.ones((2, 3)))
    failures = [
        lambda: x @ x, lambda: x + np.ones(4), lambda: x[5], lambda: x[[5]], lambda: x.sum(axis=3),
        lambda: tg.concatenate([x, x.T]), lambda: x.__setitem__(0, [1.0, 2.0]), lambda: x * "a",
        lambda: (x * 2).backward([1.0, 2.0]), lambda: tg.broadcast_to(x, (2, 2)),
        lambda: tg.ones((1,) * 33) * 2,
        lambda: tg.broadcast_to(x[0, 0], (2**45,)) * 2.0,
    ]  # fmt: skip
    (x * 2 + 1).sum().backward()
    before = live()
    for failure in failures:
        for _ in range(3):
            with pytest.raises((ValueError, IndexError, TypeError, MemoryError)):
                failure()
    assert live() == before


@pytest.mark.usefixtures("plain_memory")
def test_long_chain():
    """A hundred thousand instructions forwards, backwards, and let go, without recursion."""
    before = len(EAGER)  # what other tests have left
    length = 100_000
    x = tg.tensor([1.0, 2.0])
    y = x
    for _ in range(length):
        y = y + 0.5
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [1.0, 1.0]
    assert len(EAGER) >= length
    del y
    assert len(EAGER) <= before


@pytest.mark.usefixtures("plain_memory")
def test_long_chain_that_is_differentiated_once():
    before = len(EAGER)  # what other tests have left
    x = tg.tensor(0.3)
    y = x
    for _ in range(100_000):
        y = tg.sin(y)
    y.backward()
    assert len(EAGER) <= before
    assert 0 < float(x.grad) < 1


def test_reference_cycles_are_collected():
    for _ in range(20):
        x = tg.tensor([1.0, 2.0])
        cycle = [x * x]
        cycle.append(cycle)
    del x, cycle


def test_resident_memory_of_large_results():
    """Results of 8 MB that are not needed any more go at once, not when Python collects garbage."""
    resource = pytest.importorskip("resource")
    x = tg.ones(1_000_000)
    (tg.sin(x) * 2).sum().backward()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(30):
        (tg.sin(x) * 2).sum().backward()
        tg.exp(x) * x
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000


# --- several threads ------------------------------------------------------------------------------------


def run_in_threads(count, function):
    """Run ``function(k)`` in threads at once; an error in any of them is raised here."""
    errors, gate = [], threading.Barrier(count)

    def body(k):
        gate.wait()
        try:
            function(k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.fixture
def eager_switching():
    """Let threads take turns as often as possible."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("eager_switching")
def test_threads_with_graphs_of_their_own():
    def work(k):
        array = np.array([1.0, 2.0, 3.0]) + k
        expected = None
        for _ in range(40):
            x = tg.tensor(array)
            forward(x).backward()
            expected = x.grad.copy() if expected is None else expected
            assert np.array_equal(x.grad, expected)

    run_in_threads(6, work)


@pytest.mark.usefixtures("eager_switching")
def test_threads_with_a_common_leaf():
    for _ in range(20):
        x = tg.tensor([1.0, 2.0])
        run_in_threads(4, lambda k, x=x: (x * float(k)).backward())
        assert x.grad.tolist() == [6.0, 6.0]


@pytest.mark.usefixtures("eager_switching")
def test_threads_with_inputs_and_no_grad():
    x = tg.tensor([1.0, 2.0])

    def work(k):
        for _ in range(40):
            own = tg.tensor([3.0, 4.0])
            with tg.no_grad():
                assert (x * own).constant
            y = x * own
            y.backward(inputs=own)
            assert own.grad.tolist() == [1.0, 2.0]
            assert y.grad is None

    run_in_threads(6, work)
    assert x.grad is None


def test_threads_with_large_arrays():
    """Only one thread at a time uses the parallel driver; the others compute serially meanwhile."""
    array = np.random.default_rng(0).standard_normal(100_000)

    def work(k):
        for _ in range(5):
            x = tg.tensor(array)
            (tg.sin(x) * x).sum().backward()
            assert np.allclose(x.grad, np.cos(array) * array + np.sin(array), rtol=1e-12, atol=1e-12)

    run_in_threads(4, work)

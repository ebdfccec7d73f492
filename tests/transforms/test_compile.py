"""`compile`: what a recorded function computes as a value, from Python and by its handle on raw addresses."""

import ctypes
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import tapegrad as tg
from tapegrad.engine.kernels.language.raw_memory import load_f64, stack_i64
from tapegrad.engine.kernels.language.status import GUARD_FAILED, HANDLE_FREED, NOT_FINITE_RESULT
from tapegrad.engine.sweep.replays import handle_fields
from tapegrad.engine.sweep.replays.handle_calls import close_session, column, evaluate, open_session
from tapegrad.pytree import flatten
from tapegrad.transforms.compiled.compiled import compile_columns


def rosenbrock(x: Any) -> Any:
    return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def in_c(
    h: Any, *arrays: np.ndarray, entry: int = handle_fields.ENTRY, results: Any = None
) -> tuple[int, list[Any]]:
    """Call a compiled function as C does: the status, and arrays of the results."""
    address = h.handle.address
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(
        ctypes.c_int64.from_address(address + 8 * entry).value
    )
    if results is None:
        results = [np.empty(view.shape, view.dtype) for view in h.results]
    fields = np.array([0 if a is None else a.ctypes.data for a in (*arrays, *results)], np.int64)
    return function(address, fields.ctypes.data), results


def leaves(value: Any) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in flatten(value)[0]]


def alike(found: list[Any], expected: Any) -> None:
    for a, b in zip(found, leaves(expected), strict=True):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


X = np.linspace(0.5, 1.5, 6)
A = np.arange(12.0).reshape(3, 4)
PAIR = ({"b": np.array([1.0, 2.0]), "a": np.array([[0.5, 1.5, 2.5]])},)

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "value": (rosenbrock, (X,)),
    "array": (lambda x: tg.sin(x) * 2, (X,)),
    "several results": (lambda x, y: {"p": x * y, "s": tg.sum(x), "none": None, "k": 3.0}, (X, 2.0)),
    "passed integers": (lambda x, n: (x * n, n), (X, np.arange(6))),
    "float32": (tg.value_and_grad(rosenbrock), (X.astype(np.float32),)),
    "gradient": (tg.grad(rosenbrock), (X,)),
    "value and gradient": (tg.value_and_grad(rosenbrock), (X,)),
    "of a structure": (tg.value_and_grad(lambda p: tg.sum(p["a"]) * tg.sum(p["b"] ** 2)), PAIR),
    "of several": (tg.value_and_grad(lambda x, y: tg.sum(x) * y**2, (1, 0)), (X, 2.0)),
    "with data": (tg.value_and_grad(lambda p, d: tg.sum((p * d) ** 2)), (2.0, X)),
    "aux": (tg.value_and_grad(lambda x: (tg.sum(x**2), {"m": x * 2, "c": 1.0}), has_aux=True), (X,)),
    "gradient, aux": (tg.grad(lambda x: (tg.sum(x**2), (x * 2, "text")), has_aux=True), (X,)),
    "constant": (tg.value_and_grad(lambda x: 3.0), (X,)),
    "jacobian": (tg.jacobian(lambda x: tg.sin(x) * x[0]), (X,)),
    "rows": (tg.jacrev(lambda x: tg.stack([x[0] * x[1], tg.sum(x)])), (X,)),
    "jacobian, aux": (tg.jacfwd(lambda x: (x[:2] * x[1], x[3]), has_aux=True), (X,)),
    "rows, aux": (tg.jacrev(lambda x: (x[:2] * x[1], x[3]), has_aux=True), (X,)),
    "chunks of columns": (tg.jacfwd(lambda x: tg.cumsum(x) ** 2), (np.linspace(0, 1, 220),)),
    "hessian": (tg.hessian(rosenbrock), (X,)),
    "hessian of a structure": (tg.hessian(lambda p: tg.sum(p["a"]) * tg.sum(p["b"] ** 3)), PAIR),
    "hessian of several": (tg.hessian(lambda x, y: tg.sum(x**2) * y**3, (0, 1)), (X, 2.0)),
    "product": (tg.hvp(rosenbrock), (X, X[::-1].copy())),
    "second": (tg.grad(tg.grad(lambda x: x**3)), (2.0,)),
    "along": (lambda x, v: tg.jvp(rosenbrock, (x,), (v,)), (X, X)),
    "matrix": (tg.value_and_grad(lambda a: tg.sum(tg.exp(a @ A))), (np.ones((2, 3)) / 9,)),
    "empty": (tg.value_and_grad(lambda x: tg.sum(x)), (np.zeros(0),)),
}


@pytest.mark.parametrize("name", CASES)
def test_it_returns_what_the_transform_returns_from_python_and_from_c(name: str) -> None:
    function, args = CASES[name]
    expected = function(*args)
    h = tg.compile(function, args)
    found = h(*args)
    assert flatten(found)[1] == flatten(expected)[1]
    for a, b in zip(flatten(found)[0], flatten(expected)[0], strict=True):
        if isinstance(b, str | None):
            assert a == b
        else:
            np.testing.assert_allclose(a, b, rtol=1e-5 if "32" in name else 1e-12)
    arrays = [np.array(leaf, order="C") for leaf in flatten(args)[0]]
    status, results = in_c(h, *arrays)
    assert status == 0
    alike(results, [leaf for leaf in flatten(found)[0] if not isinstance(leaf, str | None)])


def branching(x: Any) -> Any:
    if x[0] > 0:
        return tg.sum(x**2)
    if x[1] > 0:
        return 7.0
    return tg.sum(x) * 3


WAYS = (np.array([1.0, 2.0]), np.array([-1.0, 2.0]), np.array([-1.0, -2.0]))


def test_several_examples_are_several_ways() -> None:
    h = tg.compile(tg.value_and_grad(branching), *WAYS, WAYS[0])
    assert "3 specializations" in repr(h)
    for x in (*WAYS, *WAYS[::-1]):
        alike(in_c(h, x)[1], h(x))
        alike(leaves(h(x)), tg.value_and_grad(branching)(x))


def test_a_way_that_no_example_went_is_an_error() -> None:
    h = tg.compile(tg.grad(branching), WAYS[0])
    with pytest.raises(tg.UnrecordedWayError, match=r"test_compile\.py, line \d+: if x\[0\] > 0:.*example"):
        h(WAYS[1])
    assert h.last_failure() == ""
    assert in_c(h, WAYS[1])[0] == GUARD_FAILED
    assert h.last_failure().endswith(": if x[0] > 0:")
    alike(in_c(h, WAYS[0])[1], [2 * WAYS[0]])


def test_the_branches_at_which_calls_from_compiled_code_stop_are_named() -> None:
    h = tg.compile(branching, *WAYS[:2])
    assert in_c(h, WAYS[2])[0] == GUARD_FAILED
    first, second = h.last_failure().split("; ")
    assert first.endswith(": if x[0] > 0:")
    assert second.endswith(": if x[1] > 0:")
    pointer = h.cfunc("void(const double *x, double *y, void *user)")
    text = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64)(pointer.failure_address)
    assert [text(h.address, way) for way in range(-1, 3)] == [None, first.encode(), second.encode(), None]
    data = np.array([1.0, 2.0])
    of_array = tg.compile(lambda x: tg.sum(x) * float(np.sum(data)), np.ones(2))
    data[0] = 5.0
    assert in_c(of_array, np.ones(2))[0] == GUARD_FAILED
    assert "array that plain NumPy" in of_array.last_failure()


def test_ways_with_results_of_other_shapes_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"different shapes or dtypes, float64 of shape \(2,\) and float64 of shape \(1,\)"
    ):
        tg.compile(lambda x: x * 2 if x[0] > 0 else x[:1] * 2, *WAYS[:2])


def test_closures_are_not_looked_at_again_but_arrays_are_read_where_they_lie() -> None:
    data, numbers = np.array([1.0, 2.0]), {"scale": 2.0}
    h = tg.compile(lambda x: tg.sum(x * data) * numbers["scale"], np.ones(2))
    numbers["scale"] = 100.0
    data[0] = 5.0
    assert h(np.ones(2)) == 14
    assert in_c(h, np.ones(2))[1][0] == 14


def test_an_array_that_plain_numpy_computed_from_is_guarded() -> None:
    data = np.array([1.0, 2.0])
    h = tg.compile(lambda x: tg.sum(x) * float(np.sum(data)), np.ones(2))
    data[0] = 5.0
    with pytest.raises(tg.UnrecordedWayError, match="array that has changed"):
        h(np.ones(2))
    assert in_c(h, np.ones(2))[0] == GUARD_FAILED


@pytest.mark.parametrize(
    ("function", "args", "message"),
    [
        (lambda x, y: x * y, (X,), r"missing.*compile\(<lambda>, \(x, y\)\)"),
        (lambda x: x, (X, X), "too many"),
        (tg.hvp(rosenbrock), (X,), "does not have its arguments"),
    ],
)
def test_examples_with_other_numbers_of_arguments_are_refused(function: Any, args: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        tg.compile(function, args)


def test_what_cannot_be_compiled_is_refused() -> None:
    with pytest.raises(ValueError, match="example"):
        tg.compile(rosenbrock)
    with pytest.raises(TypeError, match="compile takes a function"):
        tg.compile(3, X)
    with pytest.raises(TypeError, match="not Tensors"):
        tg.compile(rosenbrock, tg.tensor(X))
    with pytest.raises(TypeError, match="already"):
        tg.compile(tg.compile(rosenbrock, X), X)


def test_other_arguments_than_those_of_the_examples_are_refused() -> None:
    h = tg.compile(tg.grad(lambda x, n: tg.sum(x) * n), (X, 2))
    for args, message in (
        ((X[:3], 2), r"float64 of shape \(6,\), but got float64 of shape \(3,\)"),
        ((X.astype(np.float32), 2), "but got float32"),
        ((X, 3), "other static values"),
        (([X], 2), "another structure"),
    ):
        with pytest.raises(TypeError, match=message):
            h(*args)
    with pytest.raises(TypeError, match="not Tensors"):
        h(tg.tensor(X), 2)
    np.testing.assert_array_equal(h(X[::-1], 2), np.full(6, 2.0))


def test_inside_of_a_recording_it_computes_constants() -> None:
    h = tg.compile(tg.grad(rosenbrock), X)
    g = tg.grad(lambda y: tg.sum(y * h(X)))
    np.testing.assert_array_equal(g(X), h(X))
    np.testing.assert_array_equal(tg.grad(tg.jit(lambda y: tg.sum(y * h(X))))(X), h(X))


def test_results_may_lie_on_inputs_and_may_be_left_out() -> None:
    for function in (tg.value_and_grad(rosenbrock), lambda x: (tg.sum(x), tg.cumsum(x)[::-1] + x[0])):
        h = tg.compile(function, X)
        value, array = leaves(h(X))
        x, number = X.copy(), np.zeros(())
        assert in_c(h, x, results=[number, x])[0] == 0
        assert number == value
        np.testing.assert_array_equal(x, array)
        assert in_c(h, X, results=[None, None])[0] == 0
        memory = np.concatenate([X, X])
        assert in_c(h, memory[:6], results=[None, memory[2:8]])[0] == 0
        np.testing.assert_array_equal(memory[2:8], array)


def test_an_entry_looks_whether_results_are_finite() -> None:
    h = tg.compile(tg.value_and_grad(lambda x: tg.sum(tg.log(x))), X)
    for x, status in ((X, 0), (np.zeros(6), NOT_FINITE_RESULT), (-X, NOT_FINITE_RESULT)):
        with np.errstate(all="ignore"):
            assert in_c(h, x, entry=handle_fields.FINITE_ENTRY)[0] == status


def test_a_handle_that_is_gone_says_so() -> None:
    h = tg.compile(rosenbrock, X)
    h.handle.escape()
    address, entry = h.handle.address, handle_fields.ENTRY
    del h
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(
        ctypes.c_int64.from_address(address + 8 * entry).value
    )
    assert function(address, 0) == HANDLE_FREED


def test_more_threads_than_workspaces() -> None:
    """A callback of Python's lets threads wait for the GIL in the middle of a call: none may wait for a workspace."""
    threads = 70
    barrier = threading.Barrier(threads)

    @tg.custom_op("met", vjp=lambda y_bar, y, x: y_bar * 2)
    def met(x: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            barrier.wait(300)
        return x * 2

    h = tg.compile(tg.value_and_grad(lambda x: tg.sum(met(x) ** 2)), np.ones(2))
    found: dict[int, Any] = {}

    def work(k: int) -> None:
        found[k] = in_c(h, np.full(2, float(k)))

    all_ = [threading.Thread(target=work, args=(k,)) for k in range(threads)]
    for thread in all_:
        thread.start()
    for thread in all_:
        thread.join(300)
    for k, (status, (value, gradient)) in found.items():
        assert status == 0
        assert value == 8.0 * k**2
        np.testing.assert_array_equal(gradient, np.full(2, 8.0 * k))
    assert len(found) == threads


@numba.njit
def run_session(handle, addresses, x, xs, out, g, gs):
    session = stack_i64(8)
    status = open_session(handle, addresses, session)
    for k in range(len(xs)):
        x[:] = xs[k]
        status |= evaluate(session)
        gs[k, 0] = out[()]
        gs[k, 1:] = g
    close_session(session)
    return status


def test_a_session_goes_any_known_way() -> None:
    h = tg.compile(tg.value_and_grad(branching), *WAYS)
    xs, x, g, out = np.array([*WAYS, *WAYS]), np.zeros(2), np.zeros(2), np.zeros(())
    found = np.zeros((6, 3))
    addresses = np.array([x.ctypes.data, out.ctypes.data, g.ctypes.data])
    assert run_session(h.handle.address, addresses.ctypes.data, x, xs, out, g, found) == 0
    for each, row in zip(xs, found, strict=True):
        np.testing.assert_array_equal(np.hstack(h(each)), row)


@numba.njit
def take_columns(handle, addresses, columns):
    session = stack_i64(8)
    status = open_session(handle, addresses, session)
    status |= evaluate(session)
    for j in range(len(columns)):
        place = column(session, j)
        if place != 0:
            for i in range(columns.shape[1]):
                columns[j, i] = load_f64(place, i)
    close_session(session)
    return status


def residuals(p: Any, t: Any) -> Any:
    return p[0] * tg.exp(-p[1] * t) + p[2]


def test_columns_of_a_jacobian_stay_in_the_workspace() -> None:
    t, p = np.linspace(0, 1, 9), np.array([1.5, 0.5, 0.25])
    handle = compile_columns(lambda p: residuals(p, t), p)
    values, columns = np.zeros(9), np.zeros((3, 9))
    addresses = np.array([p.ctypes.data, values.ctypes.data])
    assert take_columns(handle.address, addresses.ctypes.data, columns) == 0
    np.testing.assert_array_equal(values, tg.compile(lambda p: residuals(p, t), p)(p))
    np.testing.assert_array_equal(columns.T, tg.compile(tg.jacfwd(lambda p: residuals(p, t)), p)(p))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_goes_on_calling() -> None:
    h = tg.compile(tg.value_and_grad(rosenbrock), X)
    expected = in_c(h, X)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            in_c(h, X)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(5):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads
                child = os.fork()
            if child == 0:
                status, results = in_c(h, X)
                os._exit(0 if status == 0 and np.array_equal(results[1], expected[1][1]) else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()

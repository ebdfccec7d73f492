"""Layouts: what a program computes in another order of dimensions gives what the eager functions give."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapegrad as tg
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.tape.fields.view import View
from tapegrad.ops import CODES
from tapegrad.program.passes import layouts
from tapegrad.program.passes.layouts import DimensionOrder
from tapegrad.program.recording.signature import flatten_args
from tapegrad.program.streams.spec import VALUE_AND_GRAD, ProgramSpec
from tapegrad.program.streams.stream import is_elementwise
from tapegrad.program.traces.trace import Trace

POINTS = 2000


def mixture(x: Any, m: Any) -> Any:
    density = -0.5 * (x[:, None] - m) ** 2
    return tg.sum(tg.special.logsumexp(density - tg.sum(m), axis=1))


def products(x: Any, m: Any) -> Any:
    centred = tg.reshape(x, (-1, 1, 1)) - tg.reshape(m, (1, 1, 4))
    turned = tg.einsum("ij,nkj->nki", tg.outer(m, m), centred * tg.cos(m))
    return tg.sum(turned * centred) + tg.sum(tg.max(turned[:, 0], axis=1))


def views(x: Any, m: Any) -> Any:
    y = tg.sin(x[:, None] * m)
    return tg.sum(y.T[1:3] * 2.0) + tg.sum(y[::2, 1:] ** 2) + tg.sum(tg.mean(y, axis=0) ** 3)


def several_axes(x: Any, m: Any) -> Any:
    y = tg.exp(-x[:, None, None] * tg.outer(m, m))
    return tg.sum(tg.mean(y, axis=(0, 2)) ** 2) + tg.sum(tg.where(y > 0.5, y, x[:, None, None]))


def flattened(x: Any, m: Any) -> Any:
    return tg.sum(tg.reshape(tg.sin(x[:, None] * m), (-1,)) * 2.0)


def picked(x: Any, m: Any) -> Any:
    return tg.sum(tg.sin(x[:, None] * m)[[3, 1, 3]])


NUMBERS = np.random.default_rng(1).integers(-50, 50, POINTS)


def gathered(x: Any, m: Any) -> Any:
    """Rows by number, of which a part is read again, and the sums of their elements."""
    places = tg.outer(x[:50], m)
    apart = places[NUMBERS] - places[NUMBERS[::-1]]
    return tg.sum(tg.sum(apart * apart, axis=1) ** 2) + tg.sum(apart[1:, 2] * 0.5)


def gathered_tables(x: Any, m: Any) -> Any:
    tables = tg.sin(tg.reshape(tg.outer(x[:100], m), (50, 4, 2)))
    return tg.sum(tg.sum(tables[NUMBERS.reshape(2, -1)] * tg.reshape(m, (4, 1)), axis=(2, 3)) ** 2)


LAID_OUT = (mixture, products, views, several_axes, gathered, gathered_tables)
AS_THEY_ARE = (flattened, picked)


def arguments(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.normal(size=POINTS).astype(dtype), rng.uniform(0.2, 1, 4).astype(dtype)


def recorded(function: Any, *args: np.ndarray) -> Trace:
    return Trace(function, flatten_args(args, {}), fuse=False)


def inner_loops(trace: Trace) -> list[int]:
    """Elements of the inner loops of the large elementwise rows of a gradient's program."""
    program = trace.program(ProgramSpec(VALUE_AND_GRAD, (0, 1)))
    return [
        int(stream.frames[k, field.COUNT])
        for stream in (program.forward, program.reverse)
        for k in np.flatnonzero(is_elementwise(stream) & (stream.elements >= 4 * POINTS)).tolist()
    ]


WAYS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "gradient": lambda f: tg.value_and_grad(f, (0, 1)),
    "tangent": lambda f: lambda x, m: tg.jvp(f, (x, m), (np.cos(x), np.sin(m))),
    "product": lambda f: lambda x, m: tg.hvp(f)(x, m, np.cos(x)),
}


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", LAID_OUT)
def test_results_are_those_of_eager_functions(function: Any, dtype: Any, fuse: bool) -> None:
    x, m = arguments(dtype)
    tolerance = 1e-12 if dtype == np.float64 else 2e-5
    for name, way in WAYS.items():
        found, expected = way(tg.jit(function, fuse=fuse))(x, m), way(function)(x, m)
        for a, b in zip(_flat(found), _flat(expected), strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(b).max(), err_msg=name)


def _flat(values: Any) -> list[np.ndarray]:
    if isinstance(values, tuple | list):
        return [each for value in values for each in _flat(value)]
    return [np.asarray(values)]


@pytest.mark.parametrize("function", LAID_OUT)
def test_inner_loops_are_long(function: Any) -> None:
    found = inner_loops(recorded(function, *arguments(np.float64)))
    long = [count for count in found if count >= POINTS // 2]
    assert len(long) > 0.7 * len(found)


@pytest.mark.parametrize("function", AS_THEY_ARE)
def test_what_is_seen_in_c_order_stays_so(function: Any) -> None:
    """Elements in line, and rows by number, are those of C order."""
    x, m = arguments(np.float64)
    np.testing.assert_array_equal(tg.jit(function)(x, m), function(x, m).numpy())


def test_results_of_a_function_are_in_c_order() -> None:
    x, m = arguments(np.float64)

    def both(x: Any, m: Any) -> Any:
        y = tg.sin(x[:, None] * m)
        return y, tg.exp(y - m)

    for found, expected in zip(tg.jit(both)(x, m), both(x, m), strict=True):
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found, expected.numpy())


def test_rows_that_do_not_gain_stay() -> None:
    """Where all operands lie in C order the loops are one already."""
    table = np.random.default_rng(0).normal(size=(POINTS, 4))
    trace = recorded(lambda t: tg.sum(tg.sin(t) * tg.cos(t)), table)
    program = trace.program(ProgramSpec(VALUE_AND_GRAD, (0,)))
    assert set(program.forward.frames[:, field.COUNT].tolist()) == {4 * POINTS}


# --- arguments that lie by columns ---------------------------------------------------------------------------------


def stencil(x: Any) -> Any:
    """Differences of neighbours on a square, whose columns lie one after the other."""
    grid = tg.reshape(x, (80, 80), order="F")
    middle = grid[1:-1, 1:-1]
    energy = (grid[2:, 1:-1] - middle) ** 2 + (middle - grid[1:-1, :-2]) ** 2
    return tg.sum(energy * tg.cos(middle)) + tg.sum(tg.mean(energy, axis=0) ** 2)


def cube(x: Any) -> Any:
    grid = tg.reshape(x, (16, 20, 20), order="F")
    return tg.sum(tg.sin(grid) * grid[::-1]) + tg.sum(tg.max(tg.exp(grid * 0.1), axis=1))


def both_orders(x: Any) -> Any:
    """Products of an array by columns and one by rows."""
    turned, plain = tg.reshape(x, (80, 80), order="F"), tg.reshape(x, (80, 80))
    return tg.sum(tg.sin(turned) * plain + tg.cos(plain) * turned**2)


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("function", [stencil, cube, both_orders])
def test_by_columns_results_are_those_of_eager_functions(function: Any, fuse: bool) -> None:
    x = np.random.default_rng(4).normal(size=6400)
    ways: dict[str, Any] = {
        "gradient": tg.value_and_grad,
        "tangent": lambda f: lambda x: tg.jvp(f, (x,), (np.cos(x),)),
        "product": lambda f: lambda x: tg.hvp(f)(x, np.cos(x)),
    }
    for name, way in ways.items():
        found, expected = way(tg.jit(function, fuse=fuse))(x), way(function)(x)
        for a, b in zip(_flat(found), _flat(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(b).max(), err_msg=name)


def test_by_columns_inner_loops_go_along_them() -> None:
    """Elements of the inner loop are adjacent in the argument, and in all that is computed of it."""
    trace = recorded(stencil, np.random.default_rng(4).normal(size=6400))
    stream = trace.program(ProgramSpec(VALUE_AND_GRAD, (0,))).forward
    large = np.flatnonzero(is_elementwise(stream) & (stream.elements >= 4096))
    assert len(large) > 4
    strides = stream.frames[large][:, [field.STRIDE, field.Y_STRIDE]]
    assert set(strides.ravel().tolist()) == {8}


# --- one view ------------------------------------------------------------------------------------------------------


def _key(extent: int, draw: Any) -> Any:
    kind = draw(st.sampled_from(["slice", "index", "all", "backwards"]))
    if kind == "index":
        return draw(st.integers(0, extent - 1))
    start = draw(st.integers(0, extent - 1))
    stop = draw(st.integers(start + 1, extent))
    step = draw(st.integers(1, 3))
    return {
        "all": slice(None),
        "slice": slice(start, stop, step),
        "backwards": slice(stop - 1, start - 1 if start else None, -step),
    }[kind]


def layout_of(array: np.ndarray) -> DimensionOrder | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layouts, "_MIN_ELEMENTS", 0)
        return layouts._longest_last(View(0, array.shape, array.strides, array.dtype), array.nbytes)


@given(st.data())
def test_views_show_the_same_elements(data: Any) -> None:
    extents = [
        data.draw(st.integers(20, 40)),
        *data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)),
    ]
    shape = tuple(data.draw(st.permutations(extents)))
    array = np.arange(float(np.prod(shape))).reshape(shape)
    layout = layout_of(array)
    if layout is None:
        longer = [extent for extent in shape if extent > 1]
        assert len(longer) < 2 or longer[-1] == max(shape)
        return
    view = array[(*(_key(extent, data.draw) for extent in shape), ...)]
    view = view.transpose(data.draw(st.permutations(range(view.ndim))))
    offset = view.__array_interface__["data"][0] - array.__array_interface__["data"][0]
    moved = layout.moved(View(offset, view.shape, view.strides, view.dtype))
    assert moved is not None
    np.testing.assert_array_equal(_shown(_laid_out(array, layout), moved), view)


def _shown(memory: np.ndarray, view: View) -> np.ndarray:
    start = memory.reshape(-1)[view.offset // 8 :]
    return np.lib.stride_tricks.as_strided(start, view.shape, view.strides)


def _laid_out(array: np.ndarray, layout: DimensionOrder) -> np.ndarray:
    """The memory of an array in another order."""
    kept = array.reshape(layout.extents)
    order = np.argsort([-stride for stride in layout.after])
    return np.ascontiguousarray(kept.transpose(order))


def test_views_through_several_dimensions_have_no_place() -> None:
    array = np.zeros((50, 4))
    layout = layout_of(array)
    assert layout is not None
    assert layout.moved(View.in_c_order((200,), array.dtype)) is None
    assert layout.moved(View(4, (2,), (8,), array.dtype)) is None
    windows = View(0, (3, 2), (8, 8), array.dtype)
    assert layout.moved(windows) is not None
    assert layout.moved(windows._replace(shape=(3, 3))) is None  # one of them goes on in the next line


def test_rows_by_number_are_columns_in_memory() -> None:
    x, m = arguments(np.float64)
    trace = recorded(gathered, x, m)
    (own,) = {each.params[2:] for each in trace.tape.instructions if each.op == CODES["gather"]}
    assert own == (1,)


@pytest.mark.parametrize("function", [gathered, gathered_tables])
def test_lanes_of_rows_by_number(function: Any) -> None:
    x, m = arguments(np.float64)
    scales = np.array([0.5, 1.0, 2.0])

    def scaled(s: Any, m: Any) -> Any:
        return function(x * s, m)

    for way in (lambda f: f, tg.grad):
        found = tg.vmap(way(tg.jit(scaled)), in_axes=(0, None))(scales, m)
        expected = [way(scaled)(s, m) for s in scales]
        np.testing.assert_allclose(found, expected, rtol=1e-11)

"""Tapes as text."""

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from tapegrad.engine.inspection.view_names import describe_view
from tapegrad.engine.tape.fields.view import View


def shown(function, *arguments):
    """The lines of a recording, without those that say what goes in and what comes out."""
    text = str(tg.jit(function).tape(*arguments))
    return [" ".join(line.split()) for line in text.splitlines() if line.startswith(" ")]


def test_inputs_constants_and_outputs_are_listed():
    table = np.array([1.0, 2.0])
    tape = tg.jit(lambda x, y: (x * table, tg.sum(y))).tape(np.ones(2), np.ones((2, 3)))
    lines = [" ".join(line.split()) for line in str(tape).splitlines()]
    guards = [line for line in lines if "guard(" in line]  # of how `table` lies in memory
    assert len(guards) == 2
    assert lines == [
        "inputs x0 (2,) f64, x1 (2, 3) f64",
        "constants c0 (2,) f64, c1 (48,) b8, c2 (16,) b8",
        "0 v0 = multiply(x0, c0) (2,) f64",
        "1 v1 = sum(x1) () f64",
        *guards,
        "outputs v0 (2,) f64, v1 () f64",
    ]


def test_eager_tape_names_leaves():
    tg.tensor(1.0)  # never used, and not on the tape
    x = tg.tensor([1.0, 2.0])
    y = tg.sin(x) * 2.5
    text = str(tg.tape())
    assert "leaves    x" in text
    assert ", 2.5)" in text.splitlines()[-1]
    del y
    assert "2.5" not in str(tg.tape())


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: tg.exp(x[1:, ::2]), "exp(x0[1:, ::2])"),
        (lambda x: tg.exp(x[1]), "exp(x0[1])"),
        (lambda x: tg.exp(x[:, 1]), "exp(x0[:, 1])"),
        (lambda x: tg.exp(x[::-1]), "exp(x0[::-1])"),
        (lambda x: tg.exp(x.T), "exp(x0.T)"),
        (lambda x: tg.exp(x.reshape(3, 2)), "exp(x0.reshape(3, 2))"),
        (lambda x: tg.exp(x.ravel()), "exp(x0.reshape(6))"),
        (lambda x: tg.exp(x.reshape(3, 2).T), "exp(x0.reshape(3, 2).T)"),
        (lambda x: tg.exp(tg.broadcast_to(x[0], (2, 3))), "exp(x0[0].broadcast_to(2, 3))"),
        (lambda x: tg.sum(x, axis=1), "sum(x0, axis=1)"),
        (lambda x: tg.sum(x.reshape(1, 2, 3), axis=(0, 2)), "sum(x0.reshape(1, 2, 3), axis=(0, 2))"),
        (lambda x: tg.sum(x), "sum(x0)"),
        (lambda x: tg.max(x, axis=0), "max_reduce(x0.T, axis=1)"),
        (lambda x: x[[0, 1, 1], [0, 2, 2]], "gather(x0, c0)"),
    ],
)
def test_operands_and_axes_in_fields(function, expected):
    assert f"v0 = {expected}" in shown(function, np.arange(6.0).reshape(2, 3))[0]


def test_writes_say_where():
    def write(x):
        y = x * 2
        y[1:, 0] = 7.0
        y[...] = x
        return y

    assert shown(write, np.ones((3, 2)))[1:3] == [
        "1 v1 = write(v0, 7.0, into=[1:, 0]) (3, 2) f64",
        "2 v2 = write(v1, x0, into=[...]) (3, 2) f64",
    ]


def test_pieces_say_which_part_they_are():
    assert shown(lambda x: tg.concatenate([x, x[:2]]), np.ones(3)) == [
        "0 v0[:3] = positive(x0) (3,) f64",
        "1 v0[3:] = positive(x0[:2]) (2,) f64",
    ]


def test_guards_say_what_they_expect():
    lines = shown(lambda x: x * int(x) if x > 1 else x, 3.5)
    assert any("truth_guard(v0, expected=True)" in line for line in lines)
    assert any("expected=[3.0]" in line for line in lines)


def test_tape_of_a_jit_is_that_of_the_way_taken():
    function = tg.jit(lambda x: tg.sin(x) if x > 0 else tg.cos(x))
    assert "sin" in str(function.tape(1.0))
    assert "cos" in str(function.tape(-1.0))
    assert function.tape(2.0) is function.tape(3.0)


def _random_view(rng, array):
    """A view of an array by some steps of basic indexing, transposition and reshape."""
    view = array
    for _ in range(rng.integers(1, 4)):
        kind = rng.integers(4)
        if kind == 0 and view.ndim:
            axis = int(rng.integers(view.ndim))
            start, stop = sorted(rng.integers(0, view.shape[axis] + 1, 2).tolist())
            step = int(rng.choice([1, 2, -1]))
            part = slice(start, max(stop, start + 1), abs(step))
            view = view[(slice(None),) * axis + (part,)]
            view = np.flip(view, axis) if step < 0 else view
        elif kind == 1 and view.ndim:
            view = view[int(rng.integers(view.shape[0])), ...]
        elif kind == 2:
            view = view.transpose(rng.permutation(view.ndim))
        elif view.flags.c_contiguous and view.size % 2 == 0:
            view = view.reshape(2, -1)
        if 0 in view.shape:
            return array
    return view


class _Seen(np.ndarray):
    """An array with what views are described by."""

    def broadcast_to(self, *shape):
        return np.broadcast_to(self, shape)


def _view_on(array: np.ndarray, base: np.ndarray) -> View:
    return View(array.ctypes.data - base.ctypes.data, array.shape, array.strides, array.dtype)


@daily(every=4)
@pytest.mark.parametrize("seed", range(300))
def test_descriptions_of_views_are_right(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 5, rng.integers(1, 4)).tolist())
    base = np.arange(float(np.prod(shape))).reshape(shape).view(_Seen)
    view = _random_view(rng, base)
    if rng.integers(4) == 0:
        view = np.broadcast_to(view, (3, *view.shape))
    text = describe_view(_view_on(base, base), _view_on(view, base))
    if ":" not in text.partition("]")[0]:
        text = text.replace("]", ", ...]", 1)  # an array also where an index names a single element
    if ".view(" not in text:
        np.testing.assert_array_equal(eval(f"base{text}"), view, strict=True)


def test_few_views_have_no_short_description():
    rng = np.random.default_rng(5)
    base = np.arange(24.0).reshape(2, 3, 4)
    views = [_random_view(rng, base) for _ in range(200)]
    texts = [describe_view(_view_on(base, base), _view_on(view, base)) for view in views]
    assert sum(".view(" in text for text in texts) < 40

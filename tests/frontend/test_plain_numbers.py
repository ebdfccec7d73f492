"""Programs that want plain numbers of Tensors: as lists, in texts, of functions of math, and in arrays of their own."""

import cmath
import inspect
import logging
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit, vectorize

import tapegrad as tg

X = np.array([0.5, 1.0, 1.5])
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "grad": tg.grad,
    "grad of jit": lambda f: tg.grad(tg.jit(f)),
    "jit of grad": lambda f: tg.jit(tg.grad(f)),
}
transforms = pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)


# --- lists -----------------------------------------------------------------------------------------------------------


def by_list(x: Any) -> Any:
    a, b, c = x.tolist()
    return a * b**2 * c


def by_nested_lists(x: Any) -> Any:
    rows = (x[:, None] * x).tolist()
    return sum(sum(row) for row in rows) * max(rows[0])


def before_a_write(x: Any) -> Any:
    y = x * 1.0
    a, b, c = y.tolist()
    y[:] = 0.0
    return a * b + c + np.sum(y)


def by_unpacking(x: Any) -> Any:
    a, *others = x
    return a * sum(others) + max(a, others[0]) - min(list(x)) + sorted(others)[0]


GRADIENTS: dict[Callable[[Any], Any], Callable[[Any], Any]] = {  # by complex steps, where x is an array
    by_list: lambda x: x[0] * x[1] ** 2 * x[2],
    by_nested_lists: lambda x: np.sum(x[:, None] * x) * x[0] * x[2],
    before_a_write: lambda x: x[0] * x[1] + x[2],
    by_unpacking: lambda x: x[0] * (x[1] + x[2]) + x[1] - x[0] + x[1],
}


@transforms
@pytest.mark.parametrize("program", GRADIENTS)
def test_lists_hold_tensors_inside_of_transforms(program: Callable[[Any], Any], transform: Any) -> None:
    steps = [GRADIENTS[program](X + 1e-30j * e).imag / 1e-30 for e in np.eye(3)]
    np.testing.assert_allclose(transform(program)(X), steps, rtol=1e-14)


def test_lists_are_of_plain_numbers_elsewhere() -> None:
    t = tg.tensor(X)
    for plain in ((2 * t).tolist(), tg.tensor([1, 2]).tolist(), t.detach().tolist()):
        assert set(map(type, plain)) <= {float, int}

    def counts(x: Any) -> Any:
        assert all(type(each) is int for each in tg.argsort(x).tolist())
        with tg.no_grad():
            assert all(type(each) is float for each in (2 * x).tolist())
        return np.sum(x)

    tg.grad(counts)(X)
    assert tg.jit(lambda x: sum(np.argsort(x).tolist()) * x[0])(X) == 1.5


# --- texts -----------------------------------------------------------------------------------------------------------

LOG = logging.getLogger("a program's")
TEXTS: dict[str, Callable[[Any], str]] = {
    "f-string": lambda t: f"{t:.1f}",
    "format": lambda t: "{:.1f}".format(t),  # noqa: UP032
    "%": lambda t: "%.1f" % t,  # noqa: UP031
    "% of several": lambda t: "%.1f %s %d" % (t, "s", t),  # noqa: UP031
}


@pytest.mark.parametrize("make", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize(
    "transform", [tg.jit, lambda f: tg.grad(tg.jit(f)), lambda f: tg.jit(tg.grad(f)), tg.grad]
)
def test_a_text_is_of_the_value_of_each_call(make: Callable[[Any], str], transform: Any) -> None:
    """Whether it is printed, or computed with: a replay never has the text of another call."""
    texts: list[str] = []

    def f(x: Any) -> Any:
        texts.append(make(x[0]))
        return x[0] * float(texts[-1].split()[0])

    called = transform(f)
    results = [np.ravel(called(np.array([v, 3.0])))[0] for v in (2.51, 2.52, 4.0, 2.5)]
    expected = [make(v) for v in (2.5, 2.5, 4.0, 2.5)]
    assert set(texts) == set(expected)
    slopes = [float(text.split()[0]) for text in expected]
    values = [v * s for v, s in zip((2.51, 2.52, 4.0, 2.5), slopes, strict=True)]
    np.testing.assert_allclose(results, values if transform is tg.jit else slopes)


def test_a_guard_of_a_text_names_the_programs_line(caplog: pytest.LogCaptureFixture) -> None:
    """Of an f-string the text is guarded, of ``%`` and of logging the number."""

    def f(x: Any) -> Any:
        LOG.info("x is %.1f", x[0])
        return np.sum(x)

    called = tg.jit(f)
    with caplog.at_level(logging.INFO, LOG.name):
        for x in (X, X + 1.0):
            assert called(x) == np.sum(x)
    assert caplog.messages == ["x is 0.5", "x is 1.5"]
    line = inspect.getsourcelines(f)[1] + 1
    assert f"{__file__}, line {line}: LOG.info" in str(called.explain())


def test_an_equal_text_is_replayed() -> None:
    called = tg.jit(lambda x: x * len(f"{x:.1f}"))
    for x in (0.51, 0.52, 0.48):
        assert called(x) == 3 * x
    assert "has 1 recording\n" in str(called.explain())
    whole = tg.jit(lambda x: x * float("%d" % x))  # noqa: UP031
    assert [whole(x) for x in (2.25, 2.5, 3.5)] == [4.5, 5.0, 10.5]
    assert "has 2 recordings\n" in str(whole.explain())
    count = tg.jit(lambda x: x * len(f"{np.argmax(x):d}") + float(f"{np.sum(x > 0):d}"))
    assert (count(X) == X + 3).all()
    assert (count(X - 1.2) == X - 1.2 + 1).all()


@transforms
def test_an_error_of_the_program_is_not_replaced(transform: Any) -> None:
    def f(x: Any) -> Any:
        if x[0] < 1.0:
            raise ArithmeticError(f"mass {x[0]:.2f} is too small")
        return x[0]

    with pytest.raises(ArithmeticError, match=r"mass 0\.50 is too small"):
        transform(f)(X)


@pytest.mark.parametrize("make", [*TEXTS.values(), float, lambda t: t.item()])
def test_a_custom_op_has_no_number_of_what_is_recorded_around_it(make: Callable[[Any], Any]) -> None:
    """Nothing could guard it, be it of a Tensor from around the op or of a part that the op takes."""

    def f(x: Any, outside: bool) -> Any:
        first = x[0]
        op = tg.custom_op("op", vjp=lambda y_bar, y, a: y_bar)(
            lambda a: a + len(make(first if outside else x[0]))
        )
        return np.sum(op(2 * x))

    for outside in (True, False):
        with pytest.raises(tg.TracedValueError, match="being recorded"):
            tg.jit(lambda x, outside=outside: f(x, outside))(X)


@pytest.mark.parametrize("read", [float, lambda t: t.item(), lambda t: t.data])
def test_a_custom_op_of_an_argument_reads_no_number_of_the_recording(read: Callable[[Any], Any]) -> None:
    """Its function runs in replays alone, when the Tensors that it closes over have the values of the recording."""

    def f(x: Any) -> Any:
        op = tg.custom_op("op", vjp=lambda y_bar, y, a: y_bar)(lambda a: a * read(x[0]))
        return np.sum(op(x))

    with pytest.raises(tg.TracedValueError, match="recording that has ended"):
        tg.jit(f)(X)


def test_a_remainder_is_no_text() -> None:
    assert tg.grad(lambda x: x[2] % x[0] + 7.0 % x[1])(X).tolist() == [-3.0, -7.0, 1.0]
    with pytest.raises(tg.TracedValueError, match="float"):
        tg.jit(lambda x: "%.1f" % 1.0 + str(float(x[0])))(X)  # noqa: UP031


# --- refusals --------------------------------------------------------------------------------------------------------


def root(x: Any) -> Any:
    return math.sqrt(x[0]) * x[1]


def gamma(x: Any) -> Any:
    return x[0] * math.lgamma(x[1])


def total(x: Any) -> Any:
    return math.fsum(x) * x[0]


def of_product(x: Any) -> Any:
    return float(x @ x) * x[0]


def as_complex(x: Any) -> Any:
    return abs(complex(x[0]))


def complex_root(x: Any) -> Any:
    return abs(cmath.sqrt(x[0] - 2.0))


def item(x: Any) -> Any:
    return x[0].item() * x[1]


def filled(x: Any) -> Any:
    out = np.zeros(3)
    for i in range(3):
        out[i] = x[i] ** 2
    return np.sum(out)


def copied(x: Any) -> Any:
    out = np.empty(3)
    out[:] = 2 * x
    return np.sum(out)


@njit
def stepped(u: Any, k: float) -> Any:
    return u * k


@vectorize
def doubled(u: Any) -> Any:
    return 2 * u


def by_numba(x: Any) -> Any:
    return np.sum(stepped(x, 2.0))


def by_numbas_ufunc(x: Any) -> Any:
    return np.sum(doubled(x))


REFUSALS: dict[
    Callable[[Any], Any], tuple[int, tuple[str, ...]]
] = {  # the line of the function, and what to write
    root: (1, ("float() of a Tensor", "write tapegrad.sqrt or np.sqrt")),
    gamma: (1, ("float() of a Tensor", "write tapegrad.special.gammaln")),
    total: (1, ("float() of a Tensor", "write np.sum(t)")),
    of_product: (1, ("float() of a Tensor", "Drop float()")),
    as_complex: (1, ("complex() of a Tensor", "Drop complex()")),
    complex_root: (1, ("complex() of a Tensor", "write np.sqrt(t.astype(complex))")),
    item: (1, ("item() of a Tensor", "Compute with the Tensor itself")),
    filled: (3, ("float() of a Tensor", "tapegrad.zeros", "np.zeros_like(t)", "np.stack(list)")),
    copied: (2, ("a plain array of a Tensor", "np.zeros_like(t)")),
    by_numba: (1, ("stepped, an @njit function", "stepped.py_func(t)", "tapegrad.jit(stepped)", "custom_op")),
    by_numbas_ufunc: (1, ("doubled is not supported", "custom_op")),
}
NUMBERS = (root, gamma, total, of_product, as_complex, complex_root, item, filled)


@transforms
@pytest.mark.parametrize("program", REFUSALS)
def test_a_refusal_names_the_line_and_what_to_write(program: Callable[[Any], Any], transform: Any) -> None:
    offset, parts = REFUSALS[program]
    with pytest.raises(TypeError) as caught:
        transform(program)(X)
    line = inspect.getsourcelines(program)[1] + offset
    source = inspect.getsourcelines(program)[0][offset].strip()
    for part in (*parts, f"{__file__}, line {line}: {source}"):
        assert part in str(caught.value)
    if program in NUMBERS:
        assert ("stop_gradient(t)" if transform is tg.grad else "branch with `if`") in str(caught.value)


def test_a_context_for_math_is_named_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tg, "in_place_of_scipy", object(), raising=False)
    with pytest.raises(tg.TracedValueError, match=r"inside of `with tapegrad\.in_place_of_scipy\(\):`"):
        tg.grad(root)(X)


def test_what_is_named_runs() -> None:
    def f(x: Any) -> Any:
        out = np.zeros_like(x)
        out[0] = np.sqrt(x[0]) * tg.special.gammaln(x[1])
        out[1] = stepped.py_func(x[2], 2.0) + tg.jit(stepped)(x[0], 3.0)
        return np.sum(out) + np.sum(np.stack([x[0] @ x[0] if x[0].ndim else x[0] ** 2, np.sum(x)]))

    tg.check_grads(f, (X,))

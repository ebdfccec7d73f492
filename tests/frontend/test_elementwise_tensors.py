"""Every row of the elementwise table through Tensors: values and gradients against the row's own text."""

import importlib
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from helpers.elementwise_rows import in_double, is_first_of_arity
from helpers.magnitudes import size_of_terms
from helpers.table_loops import grouped
from tapegrad.engine import kernel_table
from tapegrad.engine.kernels.language.library import OF_DEGREE
from tapegrad.engine.reference import evaluate_numpy
from tapegrad.engine.sweep.binding.control_fields import THREADS
from tapegrad.frontend.recording.elementwise import FUNCTIONS
from tapegrad.ops import BY_NAME, ELEMENTWISE, Op, choose_row

DIFFERENTIABLE = [op for op in ELEMENTWISE if op.takes_real and not op.predicate and not op.unknown]
PREDICATES = [op for op in ELEMENTWISE if op.predicate]
SEVERAL = [op for op in DIFFERENTIABLE if op.arity > 1]
BINARY = [op for op in DIFFERENTIABLE if op.arity == 2]
UNARY = [op for op in DIFFERENTIABLE if op.arity == 1]
OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "power": operator.pow, "negative": operator.neg, "positive": operator.pos, "absolute": abs,
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
    "equal": operator.eq, "not_equal": operator.ne, "remainder": operator.mod, "floor_divide": operator.floordiv,
}  # fmt: skip
SHAPES = ((), (1,), (3,), (1, 3), (4, 1), (4, 3), (2, 1, 3), (2, 4, 3))


def rows(ops: Sequence[Op]) -> Any:
    return pytest.mark.parametrize("op", ops, ids=lambda op: op.name)


by_op = grouped("op")
both_dtypes = pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])


def function(op: Op) -> Callable[..., Any]:
    return FUNCTIONS[op.name]


def draw(op: Op, j: int, shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
    """Operand `j` of a row, from its domain."""
    rng = np.random.default_rng([len(op.name), j, *shape])
    x = rng.uniform(*op.domains[j], shape)
    return np.asarray(x > 0.5) if j in op.boolean_operands else np.asarray(x, dtype)


def operands(op: Op, *shapes: tuple[int, ...], dtype: Any = np.float64) -> list[np.ndarray]:
    """Every operand of a row; the last shape stands for the others that are not named."""
    return [draw(op, j, shapes[min(j, len(shapes) - 1)], dtype) for j in range(op.arity)]


def values_of(op: Op, xs: Sequence[Any]) -> dict[str, np.ndarray]:
    values = {f"x{j}": np.asarray(x) for j, x in enumerate(xs)}
    return values | {"y": np.asarray(evaluate_numpy(op.primal, **values))}


def summed_to(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The cotangent of an operand that was broadcast: summed over what was repeated."""
    x = x.sum(tuple(range(x.ndim - len(shape))))
    return x.sum(tuple(k for k, e in enumerate(shape) if e == 1), keepdims=True).reshape(shape)


def expected_gradients(op: Op, xs: Sequence[np.ndarray], bar: np.ndarray) -> list[tuple[Any, Any]]:
    """Return the cotangent of each operand, and the sum of its terms' magnitudes, to which rounding is relative."""
    values = values_of(op, [x.astype(np.float64) if x.dtype != bool else x for x in xs])
    found = []
    for j, x in enumerate(xs):
        terms = np.broadcast_to(evaluate_numpy(op.partials[j], **values), values["y"].shape) * bar
        found.append((summed_to(terms, x.shape), summed_to(np.abs(terms), x.shape)))
    return found


def check(op: Op, arrays: Sequence[np.ndarray], tensors: Sequence[Any], call: Any = None) -> None:
    """Value and gradients of `call(*tensors)`, where `arrays` are the tensors' contents."""
    y = (call or function(op))(*tensors)
    dtype = np.result_type(*[x for j, x in enumerate(arrays) if j not in op.boolean_operands])
    promoted = [x if j in op.boolean_operands else np.asarray(x, dtype) for j, x in enumerate(arrays)]
    expected = values_of(op, promoted)["y"]
    assert isinstance(y, tg.Tensor)
    assert y.shape == expected.shape
    assert y.dtype == dtype
    eps = float(np.finfo(dtype).eps)
    np.testing.assert_allclose(y.data, expected, rtol=8 * eps, atol=eps)
    bar = np.random.default_rng(5).normal(size=y.shape)
    y.backward(bar)
    terms = np.abs(bar).max(initial=0) * size_of_terms(op)
    for j, (gradient, scale) in enumerate(expected_gradients(op, arrays, bar)):
        if isinstance(tensors[j], tg.Tensor) and not tensors[j].constant:
            assert tensors[j].grad.dtype == arrays[j].dtype
            assert tensors[j].grad.shape == arrays[j].shape
            own = float(np.finfo(arrays[j].dtype).eps)
            worst = max(eps, own)
            assert (np.abs(tensors[j].grad - gradient) <= 60 * worst * (scale + terms) + 1e-300).all(), (
                f"operand {j}"
            )


def leaves(arrays: Sequence[np.ndarray]) -> list[tg.Tensor]:
    return [tg.tensor(x) for x in arrays]


def test_public_rows_have_a_name() -> None:
    for op in ELEMENTWISE:
        if op.home is not None:
            assert getattr(importlib.import_module(op.home), op.name) is function(op) or op.name in (
                "where",
                "clip",
            )
        elif op.name in OF_DEGREE or op.name in ("zeta", "expn", "lpmv", "angle", "conjugate"):
            # A function of the same name has other arguments, other ways, or checks that a degree is a whole number.
            assert any(hasattr(module, op.name) for module in (tg, tg.special)) is (
                op.name != "smirnov_slope"
            )
        else:
            assert not hasattr(tg, op.name)
            assert not hasattr(tg.special, op.name)


# --- shapes --------------------------------------------------------------------------------------------


@by_op
@daily("shape", among=in_double, always=is_first_of_arity)
@rows(DIFFERENTIABLE)
@both_dtypes
@pytest.mark.parametrize("shape", [(), (7,), (0,), (2, 0, 3), (3, 4, 2), (1, 1)], ids=str)
def test_value_and_gradient(op: Op, dtype: Any, shape: tuple[int, ...]) -> None:
    arrays = operands(op, shape, dtype=dtype)
    check(op, arrays, leaves(arrays))


@by_op
@daily("own", always=is_first_of_arity)
@rows(SEVERAL)
@pytest.mark.parametrize("own", SHAPES, ids=str)
def test_every_operand_broadcasts_against_every_other(op: Op, own: tuple[int, ...]) -> None:
    for others in SHAPES:
        for turn in range(op.arity):
            arrays = operands(op, *[own if j == turn else others for j in range(op.arity)])
            check(op, arrays, leaves(arrays))


@rows(SEVERAL)
def test_shapes_that_do_not_broadcast_are_named(op: Op) -> None:
    arrays = operands(op, (3,), (4,))
    with pytest.raises(ValueError, match=rf"{op.name}.*\(3,\).*\(4,\).*do not broadcast"):
        function(op)(*leaves(arrays))


# --- layouts -------------------------------------------------------------------------------------------

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda x: x.T,
    "every other": lambda x: x[::2, ::2],
    "backwards": lambda x: x[::-1, ::-1],
    "column": lambda x: x[:, 1:2],
    "row repeated": lambda x: tg.broadcast_to(x[1], (6, 6)) if isinstance(x, tg.Tensor) else x[[1] * 6],
}


@by_op
@daily("layout", always=is_first_of_arity)
@rows(DIFFERENTIABLE)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_views_of_any_layout(op: Op, layout: str) -> None:
    arrays = operands(op, (6, 6))
    bases, view = leaves(arrays), LAYOUTS[layout]
    y = function(op)(*[view(x) for x in bases])
    plain = [np.asarray(view(x)) for x in arrays]
    np.testing.assert_allclose(y.data, values_of(op, plain)["y"], rtol=1e-14)
    bar = np.random.default_rng(5).normal(size=y.shape)
    y.backward(bar)
    for j, (gradient, _) in enumerate(expected_gradients(op, plain, bar)):
        if j not in op.boolean_operands:
            whole = np.zeros((6, 6))
            if layout == "row repeated":
                whole[1] = gradient.sum(0)
            else:
                view(whole)[...] = gradient
            np.testing.assert_allclose(bases[j].grad, whole, rtol=1e-12, atol=1e-14)


@by_op
@daily("first", always=is_first_of_arity)
@rows(SEVERAL)
@pytest.mark.parametrize("first", LAYOUTS)
def test_layouts_mix(op: Op, first: str) -> None:
    arrays = operands(op, (6, 6))
    plain = [np.asarray(LAYOUTS[first](arrays[0])), *arrays[1:]]
    if plain[0].shape != (6, 6):
        plain[1:] = [x[: len(plain[0]), : plain[0].shape[1]] for x in plain[1:]]
    given = [tg.asarray(x) if j else LAYOUTS[first](tg.tensor(arrays[0])) for j, x in enumerate(plain)]
    y = function(op)(*given)
    np.testing.assert_allclose(y.data, values_of(op, plain)["y"], rtol=1e-14, atol=1e-15)
    bar = np.random.default_rng(5).normal(size=y.shape)
    y.backward(bar)
    for j, (gradient, _) in list(enumerate(expected_gradients(op, plain, bar)))[1:]:
        np.testing.assert_allclose(given[j].grad, gradient, rtol=1e-12, atol=1e-14)


def _common_domain(op: Op) -> tuple[float, float]:
    return max(d[0] for d in op.domains), min(d[1] for d in op.domains)


@rows([op for op in BINARY if _common_domain(op)[0] < _common_domain(op)[1]])
def test_one_tensor_as_both_operands(op: Op) -> None:
    low, high = _common_domain(op)
    x = np.random.default_rng(2).uniform(low, high, 9)
    t = tg.tensor(x)
    y = function(op)(t, t)
    np.testing.assert_allclose(y.data, values_of(op, [x, x])["y"], rtol=1e-14)
    y.backward(np.arange(9.0))
    both = [gradient for gradient, _ in expected_gradients(op, [x, x], np.arange(9.0))]
    np.testing.assert_allclose(t.grad, both[0] + both[1], rtol=1e-12, atol=1e-14)


@rows(BINARY)
def test_two_views_of_one_tensor(op: Op) -> None:
    x = np.concatenate([draw(op, 0, (5,)), draw(op, 1, (5,))])
    t = tg.tensor(x)
    y = function(op)(t[:5], t[5:])
    y.backward(np.arange(5.0))
    both = [g for g, _ in expected_gradients(op, [x[:5], x[5:]], np.arange(5.0))]
    np.testing.assert_allclose(t.grad, np.concatenate(both), rtol=1e-12, atol=1e-14)


# --- operands that are not Tensors ---------------------------------------------------------------------

OTHERS: dict[str, Callable[[np.ndarray], Any]] = {
    "float": float,
    "NumPy scalar": lambda x: x[()],
    "0-d array": np.asarray,
    "array": lambda x: np.full(3, x),
    "list": lambda x: [float(x)] * 3,
    "nested tuple": lambda x: ((float(x),), (float(x),)),
}


@by_op
@daily("kind", always=is_first_of_arity)
@rows(SEVERAL)
@pytest.mark.parametrize("kind", OTHERS)
def test_operands_of_other_types(op: Op, kind: str) -> None:
    for tensor in set(range(op.arity)) - set(op.boolean_operands):
        arrays = operands(op, ())
        arrays[tensor] = draw(op, tensor, (3,))
        given = [tg.tensor(x) if j == tensor else OTHERS[kind](x) for j, x in enumerate(arrays)]
        seen = [np.asarray(x.data) if isinstance(x, tg.Tensor) else np.asarray(x) for x in given]
        check(op, seen, given)


@rows(SEVERAL)
def test_python_numbers_take_the_dtype_of_the_tensor(op: Op) -> None:
    for tensor in set(range(op.arity)) - set(op.boolean_operands):
        arrays = operands(op, (3,), dtype=np.float32)
        given = [tg.tensor(x) if j == tensor else float(x[0]) for j, x in enumerate(arrays)]
        assert function(op)(*given).dtype == np.float32


@rows(BINARY)
def test_integers_and_booleans_mix_with_floats(op: Op) -> None:
    x = draw(op, 0, (3,))
    for other in (1, True, np.int32(1), np.array([1, 2, 1]), np.array([True, True, True]), [1, 1, 2]):
        t = tg.tensor(x)
        y = function(op)(t, other)
        expected = values_of(op, [x, np.asarray(other, float)])["y"]
        np.testing.assert_allclose(y.data, expected, rtol=1e-14)
        assert y.dtype == np.float64
        y.backward()
        partial = evaluate_numpy(op.partials[0], **values_of(op, [x, np.asarray(other, float)]))
        np.testing.assert_allclose(t.grad, np.broadcast_to(partial, (3,)), rtol=1e-12)


def test_an_operand_changed_later_does_not_change_the_gradient() -> None:
    for make in (
        lambda: np.full(4, 2.0),
        lambda: np.full((4, 4), 2.0).diagonal(),
        lambda: np.full(8, 2.0)[::2],
    ):
        other, x = make(), tg.tensor([1.0, 2.0, 3.0, 4.0])
        y = x * other
        owner = other if other.base is None else other.base
        owner[...] = 77.0
        y.backward()
        np.testing.assert_array_equal(x.grad, np.full(4, 2.0))


# --- dtypes --------------------------------------------------------------------------------------------


@rows(SEVERAL)
def test_mixed_dtypes_promote_as_numpys(op: Op) -> None:
    for wide in range(op.arity):
        arrays = operands(op, (4,), dtype=np.float32)
        if wide not in op.boolean_operands:
            arrays[wide] = arrays[wide].astype(np.float64)
            check(op, arrays, leaves(arrays))


@rows(SEVERAL)
def test_mixed_dtypes_broadcast(op: Op) -> None:
    arrays = operands(op, (3,), (2, 1), dtype=np.float32)
    arrays[-1] = arrays[-1].astype(np.float64)
    check(op, arrays, leaves(arrays))


@rows([op for op in ELEMENTWISE if op.takes_real])
def test_integers_are_constants(op: Op) -> None:
    numbers = [np.array([1, 1, 1])] * op.arity
    if op.boolean_operands:
        numbers[0] = np.array([True, False, True])
    y = function(op)(*leaves(numbers))
    with np.errstate(all="ignore"):
        expected = getattr(np, op.ufunc)(*numbers) if op.ufunc else values_of(op, numbers)["y"]
    if isinstance(y, tg.Tensor):
        assert y.constant
    np.testing.assert_allclose(np.asarray(y), expected, rtol=1e-14)
    assert np.asarray(y).dtype == expected.dtype


@by_op
@daily("dtype", always=is_first_of_arity)
@rows(UNARY)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32])
def test_small_integers_give_what_wide_ones_give(op: Op, dtype: Any) -> None:
    given = np.array([1, 0, 1], dtype)
    y = function(op)(given)
    if y.dtype.kind == "f":
        assert y.dtype == np.float64
        np.testing.assert_array_equal(y.data, function(op)(given.astype(np.float64)).data)
    else:
        assert y.dtype == dtype


@by_op
@daily("bad", always=is_first_of_arity)
@rows(UNARY)
@pytest.mark.parametrize(
    "bad", [np.float16(1), 1j, "text", None, object()], ids=lambda bad: type(bad).__name__
)
def test_unsupported_operands_are_refused(op: Op, bad: Any) -> None:
    """A complex number is one where the row takes none, and computed with where it does."""
    if isinstance(bad, complex) and choose_row(op, (True,)) is not None:
        assert np.asarray(function(op)(bad)).dtype == (np.float64 if op.real_result else np.complex128)
        return
    with pytest.raises(tg.UnsupportedError, match=f"{op.name}.*not supported"):
        function(op)(bad)


# --- predicates ----------------------------------------------------------------------------------------


@rows(PREDICATES)
def test_predicates_are_numpys_booleans(op: Op) -> None:
    arrays = [np.array([[1.0, np.nan, np.inf], [0.0, -1.0, 2.0]]), np.array([1.0, 2.0, np.inf])][: op.arity]
    tensors = leaves(arrays)
    expected = values_of(op, arrays)["y"]
    calls = [function(op), getattr(np, op.name), *([OPERATORS[op.name]] if op.name in OPERATORS else [])]
    for call in calls:
        for given in (tensors, [tensors[0], *arrays[1:]], [arrays[0], *tensors[1:]])[: 2 * op.arity - 1]:
            result = call(*given)
            assert type(result) is np.ndarray
            np.testing.assert_array_equal(result, expected)


@rows(PREDICATES)
def test_predicates_of_plain_arrays(op: Op) -> None:
    arrays = [np.array([1.0, np.nan]), np.array([1.0, 2.0])][: op.arity]
    np.testing.assert_array_equal(function(op)(*arrays), values_of(op, arrays)["y"])


def test_a_differentiable_condition_gets_no_gradient() -> None:
    x = tg.tensor([0.0, 4.0])
    y = tg.where(x, tg.sqrt(x), 3.0)
    y.backward()
    np.testing.assert_array_equal(x.grad, [0.0, 0.25])


# --- ways of calling -----------------------------------------------------------------------------------


@rows([op for op in DIFFERENTIABLE if op.ufunc])
def test_numpys_ufunc_is_the_function(op: Op) -> None:
    arrays = operands(op, (5,))
    check(op, arrays, leaves(arrays), getattr(np, op.name))


@rows([op for op in DIFFERENTIABLE if op.name in OPERATORS])
def test_operator_is_the_function(op: Op) -> None:
    for shapes in (((5,), (5,)), ((5,), ()), ((), (5,)), ((2, 1), (5,))):
        arrays = operands(op, *shapes)
        check(op, arrays, leaves(arrays), OPERATORS[op.name])


@by_op
@rows([op for op in BINARY if op.name in OPERATORS])
@pytest.mark.parametrize("kind", OTHERS)
def test_reflected_operators(op: Op, kind: str) -> None:
    first, x = OTHERS[kind](draw(op, 0, ())), draw(op, 1, (3,))
    t = tg.tensor(x)
    check(op, [np.asarray(first), x], [first, t], OPERATORS[op.name])
    y = OPERATORS[op.name](t, first)
    np.testing.assert_allclose(y.data, values_of(op, [x, np.asarray(first)])["y"], rtol=1e-14)


@pytest.mark.parametrize(
    "exponent", [-2, -1, 0, 0.5, 1, 2, 3, 2.0, 1.0, np.float64(2), tg.tensor(2.0)], ids=repr
)
def test_powers(exponent: Any) -> None:
    x = tg.tensor([0.5, 1.0, 3.0])
    y = x**exponent
    number = exponent.item() if isinstance(exponent, tg.Tensor) else float(exponent)
    np.testing.assert_allclose(y.data, x.data**number, rtol=1e-15)
    y.backward()
    np.testing.assert_allclose(x.grad, number * x.data ** (number - 1), rtol=1e-15)


# --- many elements -------------------------------------------------------------------------------------

MANY = [(40_000,), (10_001,), (5, 9_000), (9_000, 5), (40_000, 1)]


def with_gradients(op: Op, arrays: Sequence[np.ndarray], bar: np.ndarray) -> list[np.ndarray]:
    tensors = leaves(arrays)
    y = function(op)(*tensors)
    y.backward(bar)
    return [y.data, *[t.grad for t in tensors if t.grad is not None]]


@contextmanager
def on_one_thread() -> Iterator[None]:
    threads = kernel_table._control[THREADS]
    kernel_table.run_serially()
    try:
        yield
    finally:
        kernel_table._control[THREADS] = threads


@pytest.mark.parametrize("shape", MANY, ids=str)
def test_threads_change_nothing(shape: tuple[int, ...]) -> None:
    """Threads compute the bits that one thread computes, sums included."""
    for op in (BY_NAME[name] for name in ("add", "multiply", "masked_multiply", "erfc", "lgamma", "digamma")):
        for own in (shape, shape[-1:], (), (*shape[:-1], 1)):
            arrays = operands(op, shape, own)
            bar = np.random.default_rng(5).normal(size=shape)
            parallel = with_gradients(op, arrays, bar)
            with on_one_thread():
                serial = with_gradients(op, arrays, bar)
            for x, y in zip(parallel, serial, strict=True):
                assert (x == y).all()


@both_dtypes
def test_a_broadcast_operands_cotangent_is_summed_accurately_in_parallel(dtype: Any) -> None:
    count = 300_000
    for shape, own in (((count,), ()), ((count,), (1,)), ((3, count), (3, 1)), ((count, 3), (3,))):
        x, bar = tg.zeros(own, dtype), np.random.default_rng(1).uniform(0, 1, shape).astype(dtype)
        for _ in range(2):
            (tg.zeros(shape, dtype, constant=True) + x).backward(bar)
        expected = 2 * summed_to(bar.astype(np.float64), own)
        np.testing.assert_allclose(x.grad, expected, rtol=1e-13 if dtype is np.float64 else 5e-7)


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e200, -1e200, 1e-200, -1e-200, 1e-105, 5e-324]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("exponent", [3, 4, 3.0])
def test_small_powers_are_products(exponent, dtype):
    rng = np.random.default_rng(3)
    values = (rng.normal(size=400) * 10.0 ** rng.uniform(-6, 6, 400)).astype(dtype)
    x = tg.tensor(values)
    for y in (x**exponent, tg.power(x, exponent), np.power(x, exponent)):
        assert y.dtype == dtype
        exact = values.astype(np.longdouble) ** int(exponent)
        assert np.max(np.abs(y.data - exact) / np.spacing(np.abs(y.data))) <= 2
    y.sum().backward()
    np.testing.assert_allclose(x.grad, exponent * values ** (exponent - 1), rtol=10 * np.finfo(dtype).eps)
    assert "power" not in str(tg.jit(lambda x: x**exponent).tape(values))


@pytest.mark.parametrize("exponent", [3, 4])
def test_special_values_of_small_powers(exponent):
    with np.errstate(all="ignore"):
        expected = np.array(SPECIAL) ** exponent
    found = (tg.tensor(SPECIAL) ** exponent).data
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    integers = tg.tensor([1, -2, 3])
    np.testing.assert_array_equal((integers**exponent).data, np.array([1, -2, 3]) ** exponent)

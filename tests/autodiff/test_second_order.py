"""Second and third derivatives of every elementwise row, on Tensors and in replays, against mpmath.

Every row of the table is tested, in every way that leads to a derivative of second order.
"""

import functools
import itertools

import mpmath as mp
import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from helpers.elementwise_rows import is_first_of_arity
from helpers.mpmath_oracle import DIFFERENTIABLE, in_mp, points
from helpers.second_partials import differentiated, is_known, second
from helpers.special_places import FAR, KINKS, Kink
from helpers.table_loops import grouped
from tapegrad.frontend.recording.elementwise import FUNCTIONS
from tapegrad.ops import BY_NAME, Op

every_row = pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
# Without those of which the first derivative alone is known; others are refused.
every_twice_differentiable_row = pytest.mark.parametrize(
    "op", [op for op in DIFFERENTIABLE if differentiated(op, 2)], ids=lambda op: op.name
)
by_op = grouped("op")
INF, NAN = np.inf, np.nan


# --- the ways to a second derivative -----------------------------------------------------------------------------
#
# Each takes a function of floats and arrays that works element by element, the arrays, and the numbers of those that
# are differentiated by; it returns a dict from pairs of numbers to the second derivatives, element by element.


def nested_gradients(function, xs, numbers):
    """Reverse over reverse, on the eager tape."""
    found = {}
    for j in numbers:
        first = tg.grad(lambda *ys: tg.sum(function(*ys)), j)
        rows = tg.grad(lambda *ys, first=first: tg.sum(first(*ys)), tuple(numbers))(*xs)
        found.update({(j, k): row for k, row in zip(numbers, rows, strict=True)})
    return found


def backward_twice(function, xs, numbers):
    """`backward` of what `backward` has left."""
    leaves = [tg.tensor(x) if j in numbers else x for j, x in enumerate(xs)]
    function(*leaves).backward(create_graph=True)
    gradients = {j: leaves[j].grad for j in numbers}
    for j in numbers:
        leaves[j].null_grad()
    found = {}
    for j, gradient in gradients.items():
        if gradient is not None and not gradient.constant:
            gradient.backward(retain_graph=True)
        for k in numbers:
            row = leaves[k].grad
            found[j, k] = np.zeros_like(xs[k]) if row is None else row
            leaves[k].null_grad()
    return found


def replayed_gradients(function, xs, numbers):
    """Reverse over reverse, recorded and replayed."""
    recorded = tg.jit(lambda *ys: tg.sum(function(*ys)))
    found = {}
    for j in numbers:
        first = tg.grad(recorded, j)
        rows = tg.grad(tg.jit(lambda *ys, first=first: tg.sum(first(*ys))), tuple(numbers))
        for _ in range(2):
            found.update({(j, k): row for k, row in zip(numbers, rows(*xs), strict=True)})
    return found


def replayed_products(function, xs, numbers):
    """Forward over reverse, recorded and replayed."""
    product = tg.hvp(tg.jit(lambda *ys: tg.sum(function(*ys))), tuple(numbers))
    return products(product, xs, numbers)


def eager_products(function, xs, numbers):
    """Forward over reverse, on the eager tape."""
    return products(tg.hvp(lambda *ys: tg.sum(function(*ys)), tuple(numbers)), xs, numbers)


def products(product, xs, numbers):
    found = {}
    for k in numbers:
        direction = tuple(np.full_like(xs[j], float(j == k)) for j in numbers)
        columns = product(*xs, direction)
        found.update({(j, k): column for j, column in zip(numbers, columns, strict=True)})
    return found


def reverse_over_forward(function, xs, numbers):
    """The gradient of a tangent."""
    found = {}
    for k in numbers:

        def along(*ys, k=k):
            dots = tuple(np.full(y.shape, float(j == k), y.dtype) for j, y in zip(numbers, ys, strict=True))
            whole = list(xs)

            def inner(*zs):
                for j, z in zip(numbers, zs, strict=True):
                    whole[j] = z
                return tg.sum(function(*whole))

            return tg.jvp(inner, ys, dots)[1]

        columns = tg.grad(along, tuple(range(len(numbers))))(*[xs[j] for j in numbers])
        found.update({(j, k): column for j, column in zip(numbers, columns, strict=True)})
    return found


WAYS = (
    nested_gradients, backward_twice, replayed_gradients, replayed_products, eager_products, reverse_over_forward,
)  # fmt: skip
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


# --- against mpmath ----------------------------------------------------------------------------------------------


def columns_of(rows):
    """Points as one array for each operand."""
    return [np.array(column) for column in zip(*rows, strict=True)]


@functools.cache
def sample(name):
    return tuple(points(BY_NAME[name], 4))


@functools.cache
def expected(name, orders):
    """A mixed derivative of the primal's text at the sample's points."""
    op = BY_NAME[name]
    found = []
    with mp.workdps(20):  # `diff` works with as many more for each order
        for row in sample(name):
            at = [x if isinstance(x, bool) else mp.mpf(x) for x in row]
            free = [j for j in range(op.arity) if j not in op.boolean_operands]

            def along(*moved, at=at, free=free):
                values = {**dict(enumerate(at)), **dict(zip(free, moved, strict=True))}
                return in_mp(op.primal, **{f"x{j}": x for j, x in values.items()})

            wanted = tuple(orders[j] for j in free)
            h = mp.mpf(10) ** (-20 if sum(orders) < 3 else -14)
            found.append(float(mp.diff(along, tuple(at[j] for j in free), wanted, h=h)))
    return np.array(found)


def orders_of(op, *numbers):
    return tuple(numbers.count(j) for j in range(op.arity))


@by_op
@every_way
@every_twice_differentiable_row
def test_second_derivatives(op: Op, way) -> None:
    found = way(FUNCTIONS[op.name], columns_of(sample(op.name)), differentiated(op, 2))
    assert found.keys() == set(itertools.product(differentiated(op, 2), repeat=2))
    for (j, k), value in found.items():
        want = expected(op.name, orders_of(op, j, k))
        assert value.dtype == np.float64
        np.testing.assert_allclose(value, want, rtol=2e-11, atol=1e-13, err_msg=f"{op.name} {j} {k}")


@daily(every=2, always=is_first_of_arity)
@every_row
def test_third_derivatives(op: Op) -> None:
    function, xs = FUNCTIONS[op.name], columns_of(sample(op.name))
    for j in (j for j in differentiated(op) if is_known(op, j, j, j)):
        first = tg.grad(lambda *ys, j=j: tg.sum(function(*ys)), j)
        found = nested_gradients(first, xs, [j])[j, j]
        want = expected(op.name, orders_of(op, j, j, j))
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(replayed_products(first, xs, [j])[j, j], want, rtol=1e-9, atol=1e-11)


@every_row
def test_derivatives_that_are_not_known_are_refused(op: Op) -> None:
    function, xs = FUNCTIONS[op.name], columns_of(sample(op.name))
    for j in differentiated(op):
        second = tg.grad(lambda *ys, j=j: tg.sum(tg.grad(lambda *zs: tg.sum(function(*zs)), j)(*ys)), j)
        third = tg.grad(lambda *ys, second=second: tg.sum(second(*ys)), j)
        for derivative, order in ((second, 2), (third, 3)):
            if not is_known(op, *[j] * order):
                with pytest.raises(tg.UnsupportedError, match=r"no (second |third )?derivative by"):
                    derivative(*xs)


# --- kinks and special values ------------------------------------------------------------------------------------


@grouped(lambda kink: kink.name)
@every_way
@pytest.mark.parametrize("kink", [kink for kink in KINKS if kink.hessian], ids=str)
def test_kinks(kink: Kink, way) -> None:
    xs = [np.array([x]) for x in kink.operands]
    for (j, k), value in way(FUNCTIONS[kink.name], xs, range(len(xs))).items():
        if kink.hessian[j][k] is not None:
            np.testing.assert_allclose(value, kink.hessian[j][k], rtol=1e-14)


@grouped("name")
@every_way
@pytest.mark.parametrize(("name", "rows"), FAR, ids=[name for name, _ in FAR])
def test_special_places(name, rows, way) -> None:
    op = BY_NAME[name]
    for (j, k), value in way(FUNCTIONS[name], columns_of(rows), range(op.arity)).items():
        want = [second(op, j, k, row) for row in rows]
        np.testing.assert_allclose(value, want, rtol=1e-10, atol=1e-250, err_msg=f"{j} {k}")


AWKWARD = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -3.0, INF, -INF, NAN, 1e308, -1e308, 1e-320])


def awkward(op):
    """All pairs of special values, in the order of operands; the third operand goes along with the first."""
    grid = np.array(list(itertools.product(AWKWARD, repeat=min(op.arity, 2))))
    columns = [grid[:, min(j, 1) if j < 2 else 0].copy() for j in range(op.arity)]
    return [x > 0 if j in op.boolean_operands else x for j, x in enumerate(columns)]


@by_op
@daily("way", always=is_first_of_arity)
@every_way
@every_twice_differentiable_row
def test_masked_elements_have_derivatives_of_zero(op: Op, way) -> None:
    xs, function = awkward(op), FUNCTIONS[op.name]
    mask = np.zeros(xs[0].shape, bool)

    def masked(*ys):
        return tg.where(mask, function(*ys), 0.0)

    for value in way(masked, xs, differentiated(op, 2)).values():
        np.testing.assert_array_equal(value, 0.0)


@pytest.mark.parametrize("how", ["plain", "jit"])
def test_masked_root_to_fourth_order(how) -> None:
    def function(x):
        return tg.sum(tg.where(x > 0, tg.sqrt(x), 0.0))

    derivative = tg.jit(function) if how == "jit" else function
    x, factor, power = np.array([0.0, 4.0, -1.0]), 1.0, 0.5
    for _ in range(4):
        gradient = tg.grad(derivative)
        factor, power = factor * power, power - 1
        np.testing.assert_allclose(gradient(x), [0.0, factor * 4.0**power, 0.0], rtol=1e-14)
        derivative = lambda x, gradient=gradient: tg.sum(gradient(x))  # noqa: E731
        derivative = tg.jit(derivative) if how == "jit" else derivative


@every_twice_differentiable_row
def test_all_ways_agree_at_special_values(op: Op) -> None:
    """All implementations agree at unmasked special values, whatever the table makes of them."""
    xs, numbers = awkward(op), differentiated(op, 2)
    eager = nested_gradients(FUNCTIONS[op.name], xs, numbers)
    replayed = replayed_gradients(FUNCTIONS[op.name], xs, numbers)
    for pair, value in eager.items():
        np.testing.assert_allclose(replayed[pair], value, rtol=1e-11, atol=1e-14, err_msg=str(pair))


# --- dtypes and layouts ------------------------------------------------------------------------------------------


@daily(every=0, always=is_first_of_arity)
@every_twice_differentiable_row
def test_float32_stays(op: Op) -> None:
    function, numbers = FUNCTIONS[op.name], differentiated(op, 2)
    narrow = [x if x.dtype == bool else x.astype(np.float32) for x in columns_of(sample(op.name))]
    wide = [x if x.dtype == bool else x.astype(np.float64) for x in narrow]
    want = nested_gradients(function, wide, numbers)
    for way in (nested_gradients, replayed_gradients, replayed_products):
        for pair, value in way(function, narrow, numbers).items():
            assert value.dtype == np.float32
            # The partials of igam_left cancel by a factor of (a/x)**2, 400 at a place of the sample
            np.testing.assert_allclose(value, want[pair], rtol=6e-4, atol=2e-5 * np.abs(want[pair]).max())


LAYOUTS = {
    "dense": ((3, 4), lambda x: x),
    "reversed": ((3, 8), lambda x: x[::-1, ::2]),
    "transposed": ((4, 3), lambda x: x.T),
    "column": ((3, 1), lambda x: x),
    "row": ((4,), lambda x: x[None]),
    "scalar": ((), lambda x: x),
    "broadcast": ((1, 4), lambda x: np.broadcast_to(x, (3, 4))),
    "overlapping rows": ((2, 4), lambda x: x[np.array([0, 1, 0])]),
    "reshaped": ((2, 6), lambda x: x.reshape(3, 4)),
}


@by_op
@daily("first", always=is_first_of_arity)
@every_row
@pytest.mark.parametrize("first", range(len(LAYOUTS)))
def test_views_and_broadcasts(op: Op, first: int) -> None:
    """The product with the Hessian, gathered from the elements' second derivatives and scattered to the leaves."""
    rng = np.random.default_rng([op.arity, first])
    numbers, names = differentiated(op, 2), list(LAYOUTS)
    weights = rng.uniform(0.5, 2, (3, 4))
    layouts = [LAYOUTS[names[(first + 2 * j) % len(names)]] for j in range(op.arity)]
    leaves = [np.asarray(rng.uniform(*op.domains[j], shape)) for j, (shape, _) in enumerate(layouts)]
    leaves = [leaf > 0.5 if j in op.boolean_operands else leaf for j, leaf in enumerate(leaves)]
    dots = [rng.standard_normal(leaf.shape) for leaf in leaves]

    def function(*xs, layouts=layouts):
        viewed = [view(x) for (_, view), x in zip(layouts, xs, strict=True)]
        return tg.sum(tg.broadcast_to(FUNCTIONS[op.name](*viewed), (3, 4)) * weights)

    want = by_elements(op, layouts, leaves, dots, weights)
    direction = tuple(dots[j] for j in numbers)
    product = tg.hvp(tg.jit(function) if first % 2 else function, tuple(numbers))
    twice = pulled_twice(function, leaves, direction, numbers)
    for j, value, other in zip(numbers, product(*leaves, direction), twice, strict=True):
        np.testing.assert_allclose(value, want[j], rtol=1e-9, atol=1e-12, err_msg=names[first])
        np.testing.assert_allclose(other, want[j], rtol=1e-9, atol=1e-12, err_msg=names[first])


def by_elements(op, layouts, leaves, dots, weights):
    """The Hessian's product with `dots`, from second derivatives of dense copies."""

    def spread(layout, leaf):
        return np.ascontiguousarray(np.broadcast_to(layout[1](leaf), (3, 4)))

    dense = [spread(layout, leaf) for layout, leaf in zip(layouts, leaves, strict=True)]
    found = [np.zeros(np.shape(leaf)) for leaf in leaves]
    for (j, k), value in nested_gradients(FUNCTIONS[op.name], dense, differentiated(op, 2)).items():
        places = spread(layouts[j], np.arange(leaves[j].size).reshape(leaves[j].shape))
        terms = weights * value * spread(layouts[k], dots[k])
        found[j] += np.bincount(places.ravel(), terms.ravel(), leaves[j].size).reshape(leaves[j].shape)
    return found


def pulled_twice(function, leaves, direction, numbers):
    """The gradient of the inner product of the gradient with a direction."""

    def slope(*xs):
        gradients = tg.grad(function, tuple(numbers))(*xs)
        return sum(tg.sum(g * d) for g, d in zip(gradients, direction, strict=True))

    return tg.grad(slope, tuple(numbers))(*leaves)


@by_op
@daily("way", always=is_first_of_arity)
@every_way
@every_twice_differentiable_row
def test_empty_and_without_dimensions(op: Op, way) -> None:
    dense = columns_of(sample(op.name)[:1])
    want = nested_gradients(FUNCTIONS[op.name], dense, differentiated(op, 2))
    for shape in [(0,), (2, 0), (), (1, 1)]:
        xs = [np.resize(x, shape).astype(x.dtype) for x in dense]
        for pair, value in way(FUNCTIONS[op.name], xs, differentiated(op, 2)).items():
            assert np.shape(value) == shape
            np.testing.assert_allclose(value, np.resize(want[pair], shape), rtol=1e-12)

"""Derivatives inside derivatives: every mode in every other to depth three, eager and replayed, with closures.

The reference is exact: functions that are sums of powers times exponentials, which a few lines differentiate.
"""

import itertools
from collections import defaultdict

import numpy as np
import pytest

import tapegrad as tg
from helpers.compositions.sample import EVERY, Sample
from helpers.daily import daily, random_seeds
from helpers.table_loops import grouped

# --- an exact reference ------------------------------------------------------------------------------------------
#
# A sum of c * prod(v**p) * exp(rates . v) over six variables, two for each level: z (the innermost), y, x.


class Sum:
    """A sum of such terms: a dict from (powers, rates) to c, which may be complex in pairs."""

    def __init__(self, terms):
        self.terms = {key: c for key, c in terms.items() if c != 0}

    def __add__(self, other):
        found = defaultdict(complex, self.terms)
        for key, c in other.terms.items():
            found[key] += c
        return Sum(found)

    def __mul__(self, other):
        if not isinstance(other, Sum):
            return Sum({key: c * other for key, c in self.terms.items()})
        found = defaultdict(complex)
        for (p, r), c in self.terms.items():
            for (q, s), d in other.terms.items():
                found[_plus(p, q), _plus(r, s)] += c * d
        return Sum(found)

    def by(self, k):
        """The derivative by variable `k`."""
        found = defaultdict(complex)
        for (p, r), c in self.terms.items():
            found[p, r] += c * r[k]
            if p[k]:
                found[_moved(p, k, -1), r] += c * p[k]
        return Sum(found)

    def at_the_outer(self, level):
        """The variables of a level take the values of those of the next one out."""
        found = defaultdict(complex)
        for (p, r), c in self.terms.items():
            found[_merged(p, level), _merged(r, level)] += c
        return Sum(found)

    def value(self, x):
        """Its value where only the outermost variables are left."""
        terms = [
            c * np.prod(x ** np.array(p[4:])) * np.exp(np.dot(r[4:], x)) for (p, r), c in self.terms.items()
        ]
        return float(np.real(sum(terms)))


def _plus(a, b):
    return tuple(u + v for u, v in zip(a, b, strict=True))


def _moved(powers, k, by):
    return tuple(p + by if i == k else p for i, p in enumerate(powers))


def _merged(fields, level):
    fields = list(fields)
    for k in (2 * level, 2 * level + 1):
        fields[k + 2], fields[k] = fields[k + 2] + fields[k], 0
    return tuple(fields)


def variable(k):
    return Sum({(tuple(int(i == k) for i in range(6)), (0,) * 6): 1.0})


def exponential(**rates):
    return Sum({((0,) * 6, tuple(rates.get(name, 0) for name in ("z0", "z1", "y0", "y1", "x0", "x1"))): 1.0})


def sine(**rates):
    up = exponential(**{name: 1j * r for name, r in rates.items()})
    return up * -0.5j + exponential(**{name: -1j * r for name, r in rates.items()}) * 0.5j


# --- the function, which branches and writes, and its reference --------------------------------------------------

FACTORS = np.array([1.5, 0.5])


def function(z, y, x):
    """Two elements that depend on Tensors and an array from outside; the sign of z[0] decides on the first."""
    u = z * 1.0
    u[0] = u[0] * u[1] * y[0]
    u[1] += x[1]
    v = tg.sin(z[0] + 0.5 * y[1]) * x[0]
    first = u[0] * tg.exp(0.3 * z[1] - 0.2 * x[0]) + u[1] ** 2 * FACTORS[0] if z[0] > 0 else u[1] ** 3 * y[1]
    result = tg.zeros(2) + first
    result[1:] = z[0] ** 2 * tg.exp(0.1 * y[0]) + tg.sum(z * x * FACTORS) * z[1]
    result[0] += v
    return result


def reference(branch):
    """The same in the class above."""
    z0, z1, y0, y1, x0, x1 = map(variable, range(6))
    shifted = z1 + x1
    if branch:
        first = z0 * z1 * y0 * exponential(z1=0.3, x0=-0.2) + shifted * shifted * 1.5
    else:
        first = shifted * shifted * shifted * y1
    return np.array(
        [
            first + sine(z0=1, y1=0.5) * x0,
            z0 * z0 * exponential(y0=0.1) + (z0 * x0 * 1.5 + z1 * x1 * 0.5) * z1,
        ]
    )


# --- the modes, on functions and on references -------------------------------------------------------------------

V = np.array([0.3, -0.7])


def weights(shape):
    return np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape)


def weighted(f):
    """A scalar that depends on all of a function's result."""

    def scalar(t):
        y = f(t)
        return tg.sum(y * weights(y.shape))

    return scalar


def pulled(f, prepare, t):
    value, pullback = tg.vjp(prepare(f), t)
    return pullback(weights(value.shape))[0]


MODES = {
    "grad": lambda f, prepare, t: tg.grad(prepare(weighted(f)))(t),
    "vjp": pulled,
    "jvp": lambda f, prepare, t: tg.jvp(prepare(f), (t,), (V,))[1],
    "jacfwd": lambda f, prepare, t: tg.jacfwd(prepare(f))(t),
    "jacrev": lambda f, prepare, t: tg.jacrev(prepare(f))(t),
    "hessian": lambda f, prepare, t: tg.hessian(prepare(weighted(f)))(t),
    "hvp": lambda f, prepare, t: tg.hvp(prepare(weighted(f)))(t, V),
}


def _total(sums):
    return sum((s * w for s, w in zip(sums.ravel(), weights(sums.shape).ravel(), strict=True)), Sum({}))


def _jacobian(sums, level):
    rows = [[s.by(2 * level), s.by(2 * level + 1)] for s in np.ravel(sums)]
    return np.array(rows, object).reshape((*np.shape(sums), 2))


def _along(sums, level):
    found = [s.by(2 * level) * V[0] + s.by(2 * level + 1) * V[1] for s in np.ravel(sums)]
    return np.array([*found, None], object)[:-1].reshape(np.shape(sums))


def _scalar(sums):
    return np.array([_total(sums), None], object)[:1].reshape(())


REFERENCES = {
    "grad": lambda sums, level: _jacobian(_scalar(sums), level),
    "vjp": lambda sums, level: _jacobian(_scalar(sums), level),
    "jvp": _along,
    "jacfwd": _jacobian,
    "jacrev": _jacobian,
    "hessian": lambda sums, level: _jacobian(_jacobian(_scalar(sums), level), level),
    "hvp": lambda sums, level: _along(_jacobian(_scalar(sums), level), level),
}


def expected(modes, x):
    """What the modes give, the first one being the outermost."""
    sums = reference(x[0] > 0)
    for level, mode in enumerate(reversed(modes)):
        sums = REFERENCES[mode](sums, level)
        if level < 2:
            sums = np.array([s.at_the_outer(level) for s in sums.ravel()] + [None], object)[:-1].reshape(
                sums.shape
            )
    return np.array([s.value(x) for s in sums.ravel()]).reshape(sums.shape)


def nested(modes, prepare):
    """A function of x: the modes one inside the other, each at the point of the one outside."""
    outer, middle, inner = modes

    def of_y(x):
        def of_z(y):
            return MODES[inner](lambda z: function(z, y, x), prepare[2], y)

        return MODES[middle](of_z, prepare[1], x)

    return lambda x: MODES[outer](of_y, prepare[0], x)


def same(f):
    return f


POINTS = [np.array([0.7, 0.4]), np.array([-0.6, 0.9]), np.array([0.2, -0.5])]


def check(modes, prepare, points):
    transformed = nested(modes, prepare)
    for x in points:
        found, want = transformed(x), expected(modes, x)
        assert np.shape(found) == want.shape, modes
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-10, err_msg=f"{modes} at {x}")


@grouped("middle")
@daily(every=3)
@pytest.mark.parametrize("outer", MODES)
@pytest.mark.parametrize("middle", MODES)
def test_three_levels(outer, middle):
    for k, inner in enumerate(MODES):
        check((outer, middle, inner), (same, same, same), POINTS[k % 2 : k % 2 + 1])


@grouped("middle")
@daily(every=3)
@pytest.mark.parametrize("outer", MODES)
@pytest.mark.parametrize("middle", MODES)
def test_three_levels_of_recorded_functions(outer, middle):
    for k, inner in list(enumerate(MODES))[list(MODES).index(outer) % 2 :: 2]:
        pattern = 1 + (k + list(MODES).index(middle)) % 7  # which levels
        prepare = [tg.jit if pattern >> level & 1 else same for level in range(3)]
        check((outer, middle, inner), prepare, POINTS[:1])


@daily(every=3)
@pytest.mark.parametrize("outer", MODES)
@pytest.mark.parametrize("middle", ["grad", "jvp", "hessian"])
def test_the_whole_is_recorded_once_and_replayed(outer, middle):
    """At other points, on the other side of the branch, and back."""
    for inner in ("vjp", "hvp"):
        modes = (outer, middle, inner)
        replayed = tg.jit(nested(modes, (same, same, same)))
        for x in (*POINTS, POINTS[0]):
            np.testing.assert_allclose(replayed(x), expected(modes, x), rtol=1e-9, atol=1e-10)


@daily(every=3)
@pytest.mark.parametrize("modes", list(itertools.product(MODES, repeat=2)), ids="-".join)
def test_a_recorded_function_differentiated_twice_at_many_points(modes):
    """The same transforms called again: with the other branch, and with another array in the closure."""
    constant = [np.array([0.4, -0.2])]
    outer, inner = modes

    def of_x(x):
        return MODES[inner](lambda z: function(z, x, tg.tensor(constant[0], constant=True)), same, x)

    for prepare in (same, tg.jit):
        recorded = prepare(of_x)
        for x in POINTS:
            sums = np.array([fixed(s, constant[0]) for s in reference(x[0] > 0)] + [None], object)[:-1]
            sums = REFERENCES[inner](sums, 0)
            sums = np.array([s.at_the_outer(0) for s in sums.ravel()] + [None], object)[:-1].reshape(
                sums.shape
            )
            sums = REFERENCES[outer](sums, 1)
            want = [s.at_the_outer(1).value(x) for s in sums.ravel()]
            found = MODES[outer](recorded, same, x)
            np.testing.assert_allclose(np.ravel(found), want, rtol=1e-9, atol=1e-10)


def fixed(s, x):
    """A sum in which the outermost variables are numbers."""
    found = defaultdict(complex)
    for (p, r), c in s.terms.items():
        found[(*p[:4], 0, 0), (*r[:4], 0, 0)] += c * np.prod(x ** np.array(p[4:])) * np.exp(np.dot(r[4:], x))
    return Sum(found)


# --- Hessians ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["plain", "jit"])
def test_hessian_by_all_pairs_of_modes(how):
    x = np.random.default_rng(3).uniform(0.5, 1.5, 4)

    def f(x):
        y = x * 1.0
        y[1:] = y[:-1] * tg.exp(x[1:] * 0.5)
        return tg.sum(y**3) / (1 + tg.sum(x * x))

    prepared = tg.jit(f) if how == "jit" else f
    first = [tg.grad, tg.jacfwd, tg.jacrev, lambda f: lambda x: tg.vjp(f, x)[1](1.0)[0]]
    hessian = tg.hessian(prepared)(x)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-12, atol=1e-13)
    for outer, inner in itertools.product([tg.jacfwd, tg.jacrev, tg.jacobian], first):
        np.testing.assert_allclose(outer(inner(prepared))(x), hessian, rtol=1e-11, atol=1e-12)
    for v in np.eye(4):
        np.testing.assert_allclose(tg.hvp(prepared)(x, v), hessian @ v, rtol=1e-11, atol=1e-12)
    h = 1e-6
    differences = [(tg.grad(f)(x + h * e) - tg.grad(f)(x - h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(hessian, differences, rtol=1e-6, atol=1e-7)


@random_seeds(0, 40, 1)
def test_random_programs_have_symmetric_hessians(seeds):
    """Products with the Hessian are symmetric, and the same eager, replayed, and by reverse over reverse."""
    for seed in seeds:
        sample = Sample(seed, 15)
        inputs = sample.inputs

        def f(*xs, sample=sample):
            return sample.number(*xs) ** 2

        u, v = sample.directions(), sample.directions()
        product = tg.hvp(f, EVERY)(*inputs, v)
        mirrored = tg.hvp(f, EVERY)(*inputs, u)
        size = 1 + sum(np.sum(np.abs(a)) for a in (*product, *mirrored))
        assert abs(_inner(u, product) - _inner(v, mirrored)) < 1e-10 * size, sample

        def slope(*xs, f=f, v=v):
            return sum(tg.sum(g * d) for g, d in zip(tg.grad(f, EVERY)(*xs), v, strict=True))

        others = [tg.hvp(tg.jit(f), EVERY)(*inputs, v), tg.grad(slope, EVERY)(*inputs)]
        others.append(tg.grad(tg.jit(slope), EVERY)(*inputs))
        for other in others:
            for a, b in zip(other, product, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12 * size, err_msg=str(sample))


@random_seeds(2000, 80, 4)
def test_sweeps_on_tensors_are_the_compiled_ones(seeds):
    """Gradients and tangents of random programs, by the rules on Tensors and by the kernels."""
    for seed in seeds:
        sample = Sample(seed, 35)
        leaves = [tg.tensor(x) for x in sample.inputs]
        loss = sample.number(*leaves)
        loss.backward(retain_graph=True, inputs=leaves)
        expected = [np.zeros(t.shape) if t.grad is None else t.grad.copy() for t in leaves]
        loss.backward(create_graph=True, accumulate=False, inputs=leaves)
        for leaf, want in zip(leaves, expected, strict=True):
            found = 0.0 * want if leaf.grad is None else leaf.grad.data
            scale = 1 + np.abs(want).max(initial=0)
            np.testing.assert_allclose(found, want, rtol=1e-11, atol=1e-11 * scale, err_msg=str(sample))
            leaf.null_grad()
        dots = sample.directions()
        _, expected = tg.jvp(sample.vector, sample.inputs, dots)
        _, found = tg.jvp(sample.vector, leaves, dots)
        scale = 1 + np.abs(expected).max(initial=0)
        np.testing.assert_allclose(found.data, expected, rtol=1e-11, atol=1e-11 * scale, err_msg=str(sample))


def _inner(a, b):
    return sum(np.sum(x * y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("seed", range(100, 106))
def test_hessians_of_random_programs(seed):
    sample = Sample(seed, 15)
    inputs = sample.inputs

    def f(*xs):
        return tg.sum(sample.vector(*xs) ** 2)

    eager, replayed = (tg.hessian(g, EVERY)(*inputs) for g in (f, tg.jit(f)))
    v = sample.directions()
    product = tg.hvp(f, EVERY)(*inputs, v)
    for j, k in itertools.product(EVERY, repeat=2):
        scale = 1 + np.abs(eager[j][k]).max(initial=0)
        np.testing.assert_allclose(replayed[j][k], eager[j][k], rtol=1e-9, atol=1e-12 * scale)
        size_j, size_k = (int(np.prod(np.shape(inputs[i]))) for i in (j, k))
        block, mirrored = eager[j][k].reshape(size_j, size_k), eager[k][j].reshape(size_k, size_j)
        np.testing.assert_allclose(block, mirrored.T, rtol=1e-9, atol=1e-12 * scale)
    for j in EVERY:
        want = sum(np.tensordot(eager[j][k], v[k], np.ndim(v[k])) for k in EVERY)
        scale = 1 + np.abs(want).max(initial=0)
        np.testing.assert_allclose(product[j], want, rtol=1e-9, atol=1e-10 * scale)


# --- functions with little to differentiate, and functions that do unusual things --------------------------------


def writes_to_its_argument(x):
    x[0] = x[0] * x[1]
    return tg.sum(x**3)


def sums_without_gradient(x):
    with tg.no_grad():
        total = tg.sum(x)
    return tg.sum(x**3) * total


def uses_no_grad_for_a_derivative(x):
    with tg.no_grad():
        slope = tg.grad(lambda y: tg.sum(y**2))(x)
    return tg.sum(slope * x * x)


def writes_to_a_gradient(x):
    gradient = tg.grad(lambda y: tg.sum(y**3))(x)
    gradient[0] = 0.0
    return tg.sum(gradient * x)


AT = np.array([1.5, 2.0])
UNUSUAL = {
    "linear": (lambda x: tg.sum(x * 2.0), np.zeros((2, 2))),
    "constant": (lambda x: tg.sum(tg.ones(2)), np.zeros((2, 2))),
    "itself": (lambda x: x[0], np.zeros((2, 2))),
    "one element": (lambda x: x[1] ** 3, np.diag([0, 12.0])),
    "sign": (lambda x: tg.sum(tg.sign(x) * tg.floor(x)), np.zeros((2, 2))),
    "stopped": (lambda x: tg.sum(tg.stop_gradient(x) * x), np.zeros((2, 2))),
    "writes to its argument": (writes_to_its_argument, np.array([[6 * 1.5 * 8, 9 * 9.0], [9 * 9.0, 81 / 4 * 2 + 12]])),
    "no_grad inside": (sums_without_gradient, np.diag(6 * AT) * 3.5),
    "derivative under no_grad": (uses_no_grad_for_a_derivative, np.diag(4 * AT)),
    "writes to a gradient": (writes_to_a_gradient, np.diag([0, 36.0])),
    "single precision inside": (lambda x: tg.sum(x.astype("f4").astype("f8") ** 3), np.diag(6 * AT)),
    "dies on the way": (lambda x: tg.sum(tg.exp(x)) * 0.0 + tg.sum(x**2), 2 * np.eye(2)),
    "value and gradient": (
        lambda x: sum(map(tg.sum, tg.value_and_grad(lambda y: tg.sum(y**3))(x))), np.diag(6 * AT + 6)
    ),
}  # fmt: skip
SECOND = {
    "hessian": lambda f, x: tg.hessian(f)(x),
    "hvp": lambda f, x: np.stack([tg.hvp(f)(x, e) for e in np.eye(2)]),
    "jacrev of grad": lambda f, x: tg.jacrev(tg.grad(f))(x),
    "jacfwd of jacrev": lambda f, x: tg.jacfwd(tg.jacrev(f))(x),
    "jit of hessian": lambda f, x: tg.jit(tg.hessian(f))(x),
    "hessian of Tensors": lambda f, x: tg.hessian(f)(tg.tensor(x)).data,
    "vjp of grad": lambda f, x: np.stack([tg.vjp(tg.grad(f), x)[1](e)[0] for e in np.eye(2)]),
    "under no_grad": lambda f, x: tg.no_grad()(tg.hessian(f))(x),
}


@grouped("name")
@pytest.mark.filterwarnings("ignore:jit.* was called with a Tensor:tapegrad.RecordingWarning")
@daily("how")
@pytest.mark.parametrize("how", ["plain", "jit"])
@pytest.mark.parametrize("second", SECOND)
@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_functions(name, second, how):
    f, expected = UNUSUAL[name]
    x = AT.copy()
    np.testing.assert_allclose(SECOND[second](tg.jit(f) if how == "jit" else f, x), expected, rtol=1e-6)
    np.testing.assert_array_equal(x, AT)


@pytest.mark.parametrize("how", ["plain", "jit"])
def test_arguments_that_are_not_used(how):
    f = tg.jit(lambda x, y: tg.sum(y**2)) if how == "jit" else lambda x, y: tg.sum(y**2)
    blocks = tg.hessian(f, (0, 1))(AT, AT)
    for j, k in itertools.product(range(2), repeat=2):
        np.testing.assert_allclose(blocks[j][k], 2 * np.eye(2) if j == k == 1 else np.zeros((2, 2)))
    np.testing.assert_allclose(tg.hvp(f)(AT, AT, AT), [0, 0])


# --- perturbations that must not be confused ---------------------------------------------------------------------

DERIVATIVES = {
    "grad": tg.grad,
    "jvp": lambda f: lambda x: tg.jvp(f, (x,), (1.0,))[1],
    "vjp": lambda f: lambda x: tg.vjp(f, x)[1](1.0)[0],
    "jacfwd": tg.jacfwd,
    "jacrev": tg.jacrev,
    "grad of jit": lambda f: tg.grad(tg.jit(f)),
    "jvp of jit": lambda f: lambda x: tg.jvp(tg.jit(f), (x,), (1.0,))[1],
    "jit of grad": lambda f: tg.jit(tg.grad(f)),
}


@grouped("inner")
@pytest.mark.parametrize("outer", DERIVATIVES)
@pytest.mark.parametrize("inner", DERIVATIVES)
def test_perturbations_are_not_confused(outer, inner):
    """Siskind and Pearlmutter, "Perturbation confusion and referential transparency", 2005."""
    by_x, by_y = DERIVATIVES[outer], DERIVATIVES[inner]
    assert by_x(lambda x: x * by_y(lambda y: x + y)(2.0))(3.0) == pytest.approx(1)
    assert by_x(lambda x: x * by_y(lambda y: x * y)(2.0))(3.0) == pytest.approx(6)
    assert by_x(lambda x: by_y(lambda y: x * y * y)(x))(3.0) == pytest.approx(12)
    assert by_x(lambda x: by_y(lambda y: x * x)(x * 1.0))(3.0) == pytest.approx(0)
    assert by_x(lambda x: by_y(lambda y: y * x)(x) + by_y(lambda y: x * tg.sin(y))(0.0))(
        3.0
    ) == pytest.approx(2)


@pytest.mark.parametrize("modes", list(itertools.product(["grad", "jvp", "jacrev"], repeat=3)), ids="-".join)
def test_three_perturbations(modes):
    by_x, by_y, by_z = (DERIVATIVES[name] for name in modes)

    def of_x(x):
        def of_y(y):
            return y * by_z(lambda z: x * y * z * z)(x)

        return x * by_y(of_y)(x * x)

    # by z: 2 x^2 y; of y: 2 x^2 y^2; by y at x^2: 4 x^4; of x: 4 x^5
    assert by_x(of_x)(1.5) == pytest.approx(20 * 1.5**4)


# --- closures ----------------------------------------------------------------------------------------------------


@grouped("outer")
@pytest.mark.parametrize("inner", DERIVATIVES)
@pytest.mark.parametrize("outer", DERIVATIVES)
def test_recorded_functions_that_close_over_an_argument_being_differentiated(outer, inner):
    """They are run instead: the argument, a view of it or a result is not a constant of theirs."""
    for part in (lambda x: x, lambda x: x.reshape(1)[0], lambda x: x * 1.0):

        def of_x(x, part=part):
            closed = part(x)
            return x * DERIVATIVES[inner](tg.jit(lambda y: closed * y * y))(2.0)

        assert DERIVATIVES[outer](of_x)(3.0) == pytest.approx(4 * 2 * 3.0)


def test_arrays_that_outer_functions_change():
    """An array in the closure is read at each call."""
    a = np.array([1.0, 2.0])
    product = tg.hvp(tg.jit(lambda x: tg.sum(x**3 * a)))
    x, v = np.array([0.5, 0.7]), np.array([1.0, -1.0])
    for _ in range(3):
        np.testing.assert_allclose(product(x, v), 6 * x * a * v)
        a += 1.0


CLOSED_OVER = {
    "leaf": lambda: tg.tensor([2.0, 3.0]),
    "computed": lambda: tg.tensor([1.0, 1.5]) * 2,
    "view of what was computed": lambda: (tg.tensor([[1.0, 1.5], [0.0, 0.0]]) * 2)[0],
    "written to": lambda: _written(tg.tensor([2.0, 0.0])),
    "written to after computing": lambda: _written(tg.tensor([2.0, 0.0]) * 1.0),
    "constant": lambda: tg.tensor([2.0, 3.0], constant=True),
}


def _written(w):
    w[1] = 3.0
    return w


OF_CLOSURES = {
    "grad": (lambda f, x, v: tg.grad(f)(x), 1),
    "jacobian": (lambda f, x, v: tg.jacobian(f)(x), 1),
    "jacrev": (lambda f, x, v: tg.jacrev(f)(x), 1),
    "vjp": (lambda f, x, v: tg.vjp(f, x)[1](1.0)[0], 1),
    "hessian": (lambda f, x, v: tg.hessian(f)(x), 2),
    "jacobian of grad": (lambda f, x, v: tg.jacobian(tg.grad(f))(x), 2),
    "jacrev of grad": (lambda f, x, v: tg.jacrev(tg.grad(f))(x), 2),
    "jit of hessian": (lambda f, x, v: tg.jit(tg.hessian(f))(x), 2),
    "hvp": (lambda f, x, v: tg.hvp(f)(x, v), 3),
    "jvp of grad": (lambda f, x, v: tg.jvp(tg.grad(f), (x,), (v,))[1], 3),
}


@grouped("way")
@pytest.mark.parametrize("prepare", [tg.jit, lambda f: f], ids=["jit", "plain"])
@pytest.mark.parametrize("way", OF_CLOSURES)
@pytest.mark.parametrize("closed", CLOSED_OVER)
def test_eager_tensors_in_closures_are_constants(closed, way, prepare):
    w = CLOSED_OVER[closed]()
    x, v, numbers = np.array([0.5, 0.7]), np.array([1.0, -1.0]), np.array([2.0, 3.0])
    derivative, kind = OF_CLOSURES[way]
    second = 6 * x * numbers
    expected = {1: 3 * x**2 * numbers, 2: np.diag(second), 3: second * v}[kind]
    for _ in range(2):
        found = derivative(prepare(lambda x: tg.sum(x**3 * w)), x, v)
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("closed", [name for name in CLOSED_OVER if name != "constant"])
def test_recorded_functions_keep_the_gradient_of_what_they_close_over(closed):
    """Called with arrays in a program with `backward`, they are run as they are."""
    w = CLOSED_OVER[closed]()
    g = tg.jit(lambda x: tg.sum(x * w * w))
    for x in (np.ones(2), np.array([1.0, 2.0]), np.ones(2)):
        w.null_grad()
        (g(x) * 2).backward(inputs=[w], retain_graph=True)
        np.testing.assert_allclose(w.grad, 4 * x * np.array([2.0, 3.0]))
        with tg.no_grad():
            assert isinstance(g(x), float)
    assert tg.value_and_grad(g)(np.ones(2))[1].tolist() == [4, 9]
    assert isinstance(tg.jit(lambda x: tg.sum(x * w.detach()))(np.ones(2)), float)


def test_optimisers_take_what_is_closed_over_as_constants():
    t, seen = tg.tensor([0.0, 1.0, 2.0, 3.0]), tg.tensor([2.0, 1.1, 0.7, 0.5]) * 1.0

    def residuals(p):
        return p[0] * tg.exp(-p[1] * t) - seen

    def loss(p):
        return tg.sum(residuals(p) ** 2)

    best = tg.optimize.least_squares(residuals, np.ones(2)).x
    for method in ("BFGS", "Nelder-Mead", "trust-exact"):
        np.testing.assert_allclose(tg.optimize.minimize(loss, np.ones(2), method=method).x, best, atol=1e-3)
    tg.check_grads(tg.jit(loss), (best + 0.1,))


def test_recorded_functions_keep_the_gradient_through_others():
    w = tg.tensor([2.0, 3.0])
    inner = tg.jit(lambda x: x * w)
    outer = tg.jit(lambda x: tg.sum(inner(np.array([1.0, 10.0])) * x))
    outer(np.ones(2)).backward()
    assert w.grad.tolist() == [1, 10]
    f = tg.tensor([1.0, 1.0])
    value, gradient = tg.value_and_grad(lambda x: tg.sum(inner(np.ones(2)) * x))(f)
    value.backward()
    assert gradient.tolist() == [2, 3]
    assert w.grad.tolist() == [2, 11]

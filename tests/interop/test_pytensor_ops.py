"""Ops of PyTensor as functions here: a small graph for each, against PyTensor's value and gradient."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import scipy.special

import tapegrad as tg

pytensor = pytest.importorskip("pytensor")

import pytensor.sparse as ps  # noqa: E402  after it is known to be there
import pytensor.tensor as pt  # noqa: E402
from pytensor.raise_op import Assert  # noqa: E402
from pytensor.scan.utils import until  # noqa: E402

try:
    from pytensor.conditional.op import ifelse
except ModuleNotFoundError:  # PyTensor 2
    from pytensor.ifelse import ifelse

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTensor's own
GRAPHS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {}


def enter(name: str, build: Callable[..., Any], *operands: Any) -> None:
    GRAPHS[name] = build, tuple(np.asarray(x, float) for x in operands)


u = np.array([-1.3, -0.4, 0.6, 1.7])
p = np.array([0.15, 0.4, 0.6, 0.85])
v = np.array([0.5, 1.5, 2.5, 0.7])
m = np.array([[0.2, -1.0, 0.5], [1.1, 0.3, -0.7]])
sq = np.array([[4.0, 0.3, -0.5], [0.2, 3.0, 0.4], [-0.6, 0.1, 5.0]])
spd = sq @ sq.T
stack = np.stack([spd, spd + np.eye(3)])

TWO = pt.as_tensor(np.float64(2.0))  # Python's 2.0 is one of float32, and so is what PyTensor computes of it

for name in (
    "exp", "exp2", "expm1", "sigmoid", "softplus", "sin", "cos", "tan", "arctan", "sinh", "cosh", "tanh", "arcsinh",
    "erf", "erfc", "erfcx", "sqr", "abs", "sign", "neg", "ceil", "floor", "trunc", "deg2rad", "rad2deg", "isnan",
):  # fmt: skip
    enter(name, getattr(pt, name), u)
for name in (
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "gamma",
    "gammaln",
    "psi",
    "tri_gamma",
    "j0",
    "j1",
    "i0",
    "i1",
):
    enter(name, getattr(pt, name), v)
for name in ("arcsin", "arccos", "arctanh", "erfinv", "erfcinv"):
    enter(name, getattr(pt, name), p)
enter("arccosh", pt.arccosh, v + 1)
enter("log1mexp", pt.log1mexp, -v)
enter("reciprocal", pt.reciprocal, v)
enter("round", lambda x: pt.round(x) + pt.round(x, mode="half_away_from_zero"), u)
for exponent in (2, 3, 0.5, -0.5, -1, -2, 1.7):
    enter(f"pow {exponent}", lambda x, e=exponent: x**e, v)
enter("pow of two", lambda x, y: x**y, v, u)
enter("pow of a negative number", lambda x: (-2.0) ** pt.floor(x) * x, v)
enter("arithmetic", lambda x, y: (x + y + 1) * x * y / (y - 5) - x, u, v)
enter("mod and floor division", lambda x, y: x % y + (x // y) * x, u, v)
enter("maximum and minimum", lambda x, y: pt.maximum(x, y) * pt.minimum(x, 0.5), u, v)
enter("arctan2", pt.arctan2, u, v)
enter("clip", lambda x: pt.clip(x, -1, 1) * x, u)
enter("switch", lambda x: pt.switch((x > 0) & (x < 1) | pt.eq(x, 1.7), x**2, -x), u)
enter("switch of numbers", lambda x: pt.switch(pt.ge(x, 0) * 2, x, pt.neq(x, 1) * x * 3), u)
enter("comparisons", lambda x: (pt.le(x, 0.6) + pt.lt(x, 0.6) + pt.gt(x, 0)) * x, u)
enter("invert and xor", lambda x: pt.switch(~(x > 0) ^ (x > 1), x, 2 * x), u)
enter("cast", lambda x: pt.cast(x, "float32").astype("float64") * pt.cast(x, "int64"), np.float32(u))
enter("gammainc by x", lambda x: pt.gammainc(TWO, x) + pt.gammaincc(TWO - 0.5, x), v)
enter("betainc by x", lambda x: pt.betainc(TWO, TWO + 1.0, x), p)
enter("bessel", lambda x: pt.iv(1.5, x) + pt.ive(0.5, x) + pt.jv(0.5, x) + pt.kve(1.5, x), v)
enter("owens_t", lambda x, y: pt.owens_t(x, y), u, v)
enter("logaddexp", pt.logaddexp, u, v)
# shapes
enter("dimshuffle", lambda x: x.dimshuffle(1, "x", 0) ** 2, m)
enter("squeeze", lambda x: pt.squeeze(x[:1]) * 2, m)
enter("reshape", lambda x: x.reshape((3, 2)) * np.arange(6.0).reshape(3, 2), m)
enter("reshape by shape", lambda x: x.reshape((x.shape[1], x.shape[0])) * x.shape[1], m)
enter("alloc", lambda x: pt.alloc(x[0], 4, 3) * np.arange(12.0).reshape(4, 3), m)
enter("arange of shape", lambda x: x * pt.arange(x.shape[0]), u)
enter("concatenate", lambda x, y: pt.concatenate([x, y, x * y]) ** 2, u, v)
enter("stack", lambda x: pt.stack([x[0], x[2] * 2, 1.0]) ** 2, u)
enter("split", lambda x: pt.split(x, np.array([1, 3]), n_splits=2)[1] ** 2 * x[0], u)
enter("repeat", lambda x: pt.repeat(x, 3) * np.arange(12.0), u)
enter("pad", lambda x: pt.pad(x, ((1, 1), (0, 2)), mode="constant") ** 2, sq)
enter("join_dims", lambda x: pt.join_dims(x, start_axis=1, n_axes=2) ** 2, stack)
enter("split_dims", lambda x: pt.split_dims(x, shape=(2, 2), axis=0) ** 2, u)
enter("tile", lambda x: pt.tile(x, 2) * np.arange(8.0), u)
enter("diagonal", lambda x: pt.diagonal(x) * np.arange(3.0), sq)
enter("diag", lambda x: pt.diag(x) @ np.ones(4), u)
enter("fill_diagonal", lambda x: pt.fill_diagonal(x, x[0, 1]) ** 2, m)
enter("eye", lambda x: x + pt.eye(x.shape[0]) * x, sq)
enter("broadcast_to", lambda x: pt.broadcast_to(x, (3, 4)) * np.arange(12.0).reshape(3, 4), u)
enter("specify_shape", lambda x: pt.specify_shape(x, (4,)) * 2, u)
enter("zeros_like and second", lambda x: pt.zeros_like(x) + pt.second(x, x[0]), u)
enter("triangles", lambda x: pt.tril(x) * 2 + pt.triu(x, 1), sq)
# indices
enter("slices", lambda x: x[1:, ::-1] * x[:-1, 1][0], m)
enter("number", lambda x: x[1, -1] * x[0, 0], m)
enter("gather", lambda x: x[np.array([0, 3, 3, 1])] ** 2, u)
enter("gather of two", lambda x: x[np.array([0, 1, 1]), np.array([2, 0, 0])] ** 2, m)
enter("gather and slice", lambda x: x[:, np.array([2, 0])] ** 2, m)
enter("mask", lambda x: x[np.array([True, False, True, True])] ** 2, u)
enter("computed gather", lambda x: x[pt.argsort(x)] * np.arange(4.0), u)
enter("set", lambda x: pt.set_subtensor(x[1:3], x[0] ** 2) * x, u)
enter("increase", lambda x: pt.inc_subtensor(x[::2], x[0]) ** 2, u)
enter("set at", lambda x: pt.zeros(5)[np.array([0, 2, 3, 4])].set(x) ** 2, u)
enter("increase at repeated places", lambda x: pt.zeros(3)[np.array([0, 2, 2, 1])].inc(x) ** 2, u)
enter("increase at a mask", lambda x: x[np.array([True, False, True, False])].inc(1.0) ** 2, u)
# reductions
enter("sum", lambda x: pt.sum(x**2) + pt.sum(x, axis=0), m)
enter("sum over two axes", lambda x: pt.sum(x**3, axis=(0, 2)), stack)
enter("mean and var", lambda x: pt.mean(x, axis=1) + pt.var(x) + pt.std(x), m)
enter("prod", lambda x: pt.prod(x, axis=1), m)
enter("max and min", lambda x: pt.max(x, axis=1) * pt.min(x), m)
enter("all and any", lambda x: pt.switch(pt.all(x > -2) & pt.any(x > 1, axis=0), x, 2 * x), u)
enter("argmax", lambda x: x[pt.argmax(x)] ** 2, u)
enter("argmax along an axis", lambda x: x * pt.argmax(x, axis=1)[:, None], m)
enter("softmax", lambda x: pt.special.softmax(x, axis=1) * x, m)
enter("log_softmax", lambda x: pt.special.log_softmax(x, axis=0) * x, m)
enter("logsumexp", lambda x: pt.logsumexp(x, axis=1), m)
enter("cumsum and cumprod", lambda x: pt.cumsum(x, axis=1) * pt.cumprod(x, axis=1), m)
enter("cumsum of all", lambda x: pt.cumsum(x) ** 2, m)
enter("diff", lambda x: pt.diff(x, n=2), u)
enter("sort", lambda x: pt.sort(x) * np.arange(4.0), u[::-1])
enter("searchsorted", lambda x: x * pt.searchsorted(np.array([-1.0, 0.0, 1.0]), x), u)
# linear algebra
enter("dot of vectors", lambda x, y: pt.dot(x, y), u, v)
enter("dot of a matrix", lambda x, y: pt.dot(x, y[:3]), m, v)
enter("dot of matrices", lambda x: pt.dot(x, x.T), m)
enter("matmul of stacks", lambda x: x @ x, stack)
enter("batched dot", lambda x: getattr(pt, "batched_dot", pt.matmul)(x, x), stack)
enter("cholesky", lambda x: pt.linalg.cholesky(x @ x.T), sq)
enter("cholesky of a stack", lambda x: pt.linalg.cholesky(x), stack)
enter("upper cholesky", lambda x: pt.linalg.cholesky(x @ x.T, lower=False), sq)
enter("solve", lambda x, y: pt.linalg.solve(x, y[:3]), sq, v)
enter("solve by symmetry", lambda x, y: pt.linalg.solve(x @ x.T, y[:3], assume_a="pos"), sq, v)
enter("solve_triangular", lambda x, y: pt.linalg.solve_triangular(x, y[:3], lower=True), sq, v)
enter("solve_triangular of a matrix", lambda x: pt.linalg.solve_triangular(x, x.T, lower=False), sq)
enter("solve a stack", lambda x: pt.linalg.solve(x, x[..., 0], b_ndim=1), stack)
enter("inv, det, slogdet", lambda x: pt.linalg.inv(x) * pt.linalg.det(x) + pt.linalg.slogdet(x)[1], sq)
enter("pinv", pt.linalg.pinv, m)
enter("eigh", lambda x: pt.linalg.eigh(x + x.T)[0], sq)
enter("eigenvectors", lambda x: pt.linalg.eigh(x + x.T)[1] ** 2, sq)
enter("lu", lambda x: pt.linalg.lu(x)[0] * 2 + pt.linalg.lu(x)[1] ** 2 + pt.linalg.lu(x)[2], sq[::-1])
enter(
    "lu with positions",
    lambda x: (lambda p, low, up: low[p] ** 2 + up)(*pt.linalg.lu(x, p_indices=True)),
    sq[::-1],
)
enter("solve by lu_factor", lambda x, y: pt.linalg.lu_solve(pt.linalg.lu_factor(x), y[:3]), sq[::-1], v)
enter("block_diag", lambda x, y: pt.linalg.block_diag(x, x * 2, y) ** 2, m, sq)
thin = scipy.sparse.csr_matrix(np.array([[1.0, 0, 2], [0, -3, 0], [0, 0, 4], [5, 0, 0]]))
enter("structured_dot", lambda x: ps.structured_dot(ps.as_sparse(thin), x.T) ** 2, m)
enter("sparse dot", lambda x: ps.dot(x, ps.as_sparse(thin.T.tocsc())) ** 2, m)
enter(
    "true_dot",
    lambda x: ps.dense_from_sparse(ps.true_dot(ps.as_sparse(thin), x.T)) * 2,
    m,
)
enter("expm", lambda x: pt.linalg.expm(x / 4), sq)
enter("kron", lambda x: pt.linalg.kron(x, x), m)
enter("einsum", lambda x, y: pt.einsum("ij,kj->ik", x, y), m, sq)
enter("ifelse", lambda x: ifelse(pt.gt(x[0], 0), x**2, -x), u)


enter(
    "last state of a scan",
    lambda x: pytensor.scan(lambda s: s * 1.1 + 1, outputs_info=x, n_steps=5)[0][-1],
    u,
)
enter(
    "scan backwards",
    lambda x: pytensor.scan(lambda a, s: s * a, sequences=[x], outputs_info=[pt.ones(())], go_backwards=True)[
        0
    ],
    u,
)


@pytest.mark.parametrize("name", GRAPHS)
def test_value_and_gradient_are_those_of_pytensor(name: str) -> None:
    build, operands = GRAPHS[name]
    variables = [pt.tensor(f"x{j}", dtype="float64", shape=(None,) * x.ndim) for j, x in enumerate(operands)]
    output = build(*variables)
    seed = pt.as_tensor(np.random.default_rng(1).normal(size=100))
    flat = pt.sum(pt.flatten(output) * seed[: pt.flatten(output).shape[0]])
    gradients = pt.grad(flat, variables, disconnected_inputs="ignore")
    expected = pytensor.function(
        variables, [output, flat, *gradients], mode="FAST_COMPILE", on_unused_input="ignore"
    )
    wanted, wanted_sum, *wanted_gradients = expected(*operands)
    f = tg.interop.pytensor(output, variables)
    for found in (f(*operands), tg.jit(f)(*operands)):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-13)
    total = tg.interop.pytensor(flat, variables)
    value, gradient = tg.value_and_grad(total, argnums=tuple(range(len(operands))))(*operands)
    np.testing.assert_allclose(value, wanted_sum, rtol=1e-10, atol=1e-12)
    for one, other in zip(gradient, wanted_gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)


def test_arrays_with_names_of_axes() -> None:
    px = pytest.importorskip("pytensor.xtensor")
    x, w = (
        px.xtensor("x", dims=("row", "column"), shape=(2, 3)),
        px.xtensor("w", dims=("column",), shape=(3,)),
    )
    total = (px.math.exp(x.transpose("column", "row")) * w + x.sum("row")).sum("column")
    f = tg.interop.pytensor([total, total.mean()], [x, w])
    at = m, v[:3]
    np.testing.assert_allclose(f(*at)[0], (np.exp(m) * at[1] + m.sum(0)).sum(1), rtol=1e-14)
    gradient = tg.jit(tg.grad(lambda x, w: f(x, w)[1], argnums=(0, 1)))(*at)
    np.testing.assert_allclose(gradient[0], np.exp(m) * at[1] / 2 + 1, rtol=1e-13)
    np.testing.assert_allclose(gradient[1], np.exp(m).mean(axis=0), rtol=1e-13)


def test_hypergeometric_function_by_all_arguments() -> None:
    a, b, c, z = pt.vectors("a", "b", "c", "z")
    f = tg.interop.pytensor(pt.sum(pt.hyp2f1(a, b, c, z)), [a, b, c, z])
    rng = np.random.default_rng(0)
    places = np.concatenate([rng.uniform(-3, 0.9, 10), [-30.0, -0.01, 0.0, 1e-8, 0.5, 0.99]])
    at = [*(rng.uniform(0.2, high, 16) for high in (6.0, 6.0, 9.0)), places]
    at[0][3], at[0][6], at[1][5] = -1.5, -2.0, -0.3  # a polynomial among them
    gradients = tg.jit(tg.grad(f, argnums=(0, 1, 2, 3)))(*at)
    with mpmath.workdps(30):
        for i, point in enumerate(zip(*at, strict=True)):
            for j, gradient in enumerate(gradients):
                wanted = mpmath.diff(mpmath.hyp2f1, point, tuple(int(j == k) for k in range(4)))
                np.testing.assert_allclose(gradient[i], float(wanted), rtol=1e-12, err_msg=f"{point} by {j}")
    b, c = np.array([0.3]), np.array([2.5])
    with pytest.raises(ValueError, match="hyp2f1: the series of the derivatives by a, b and c does not end"):
        tg.grad(lambda a: f(a, b, c, np.ones(1)))(np.array([0.5]))


@pytest.mark.parametrize(
    "point",
    [
        *((1.3, 2.1, 3.2, 0.4), (0.7, 2.5, 1.1, -2.3), (3.0, 1.2, 5.0, 0.9), (-2.0, 1.3, 2.2, 0.5)),
        *((0.4, 0.6, 1.9, -30.0), (2.0, 3.0, 4.0, 0.0), (1.5, 0.3, 0.9, -0.01)),
    ],
    ids=str,
)
def test_second_derivatives_of_the_hypergeometric_function(point: tuple[float, ...]) -> None:
    v = pt.vector("v")
    f = tg.interop.pytensor(pt.hyp2f1(v[0], v[1], v[2], v[3]), v)
    found = tg.hessian(f)(np.array(point))
    with mpmath.workdps(40):
        for i, j in np.ndindex(4, 4):
            wanted = mpmath.diff(mpmath.hyp2f1, point, tuple(int(i == k) + int(j == k) for k in range(4)))
            np.testing.assert_allclose(found[i, j], float(wanted), rtol=1e-12, err_msg=f"by {i} and {j}")


def test_third_derivatives_of_the_hypergeometric_function() -> None:
    """By z they are known; by the parameters they are refused."""
    z = pt.scalar("z")
    f = tg.interop.pytensor(pt.hyp2f1(1.0, 2.0, 3.0, z), z)
    third = tg.grad(tg.grad(tg.grad(f)))
    wanted = float(mpmath.diff(lambda z: mpmath.hyp2f1(1, 2, 3, z), 0.3, 3))
    assert tg.jit(third)(0.3) == pytest.approx(wanted)
    by_a = tg.interop.pytensor(pt.hyp2f1(z, 2.0, 3.0, 0.3), z)
    with pytest.raises(
        tg.UnsupportedError, match="hyp2f1: first and second derivatives by a, b and c are known"
    ):
        tg.grad(tg.grad(tg.grad(by_a)))(0.4)


def test_lu_factorization_with_permuted_rows() -> None:
    """PyTensor's gradient of it is that of a factor whose rows are in order."""
    x = pt.matrix("x")
    f = tg.interop.pytensor(pt.sum(pt.linalg.lu(x, permute_l=True)[0] ** 3), x)
    found, at = tg.jit(tg.grad(f))(sq[::-1].copy()), sq[::-1].astype(complex)
    for index in np.ndindex(3, 3):
        shifted = at.copy()
        shifted[index] += 1e-20j
        derivative = np.sum(scipy.linalg.lu(shifted, permute_l=True)[0] ** 3).imag / 1e-20
        np.testing.assert_allclose(found[index], derivative, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("lower", [True, False])
def test_solutions_by_a_cholesky_factor(lower: bool) -> None:
    """PyTensor has no gradient of them."""
    x, y = pt.matrix("x"), pt.vector("y")
    f = tg.interop.pytensor(pt.sum(pt.linalg.cho_solve((x, lower), y) ** 2), [x, y])

    def expected(x: Any, y: Any) -> Any:
        part = np.tril(x) if lower else np.triu(x).T
        return np.sum(np.linalg.solve(part @ part.T, y) ** 2)

    found, wanted = (tg.value_and_grad(each, argnums=(0, 1))(sq, v[:3]) for each in (f, expected))
    np.testing.assert_allclose(found[0], wanted[0])
    for one, other in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-14)


@pytest.mark.parametrize("steps", [4, 300])
def test_loop_with_states_of_all_kinds(steps: int) -> None:
    """A state that is read two steps before, one that is read one before, and a result without a state.

    The longer loop is one instruction.
    """
    x, at = pt.vector("x"), np.random.default_rng(3).uniform(-0.9, 0.6, steps)

    def step(a: Any, s2: Any, s1: Any, t: Any, w: Any) -> Any:
        return s1 * a + s2, t * a + w[0], s1 * t

    found, _ = pytensor.scan(
        step,
        sequences=[x],
        outputs_info=[{"initial": x[:2], "taps": [-2, -1]}, x[0], None],
        non_sequences=[x],
    )
    f = tg.jit(tg.interop.pytensor(pt.sum(found[0] * found[1] + found[2] ** 2) + found[0][-2], x))

    def expected(x: Any) -> Any:
        s2, s1, t, total = x[0], x[1], x[0], 0.0
        for a in x:
            (s2, s1), t, product = (s1, s1 * a + s2), t * a + x[0], s1 * t
            total = total + s1 * t + product**2
        return total + s2

    for one, other in zip(tg.value_and_grad(f)(at), tg.value_and_grad(expected)(at), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11)
    assert len(str(f.tape(at)).splitlines()) < 100


def test_long_loops_over_positions_and_slices() -> None:
    """Integers that change from step to step stay known: they may be shapes."""
    x, at = pt.vector("x"), np.random.default_rng(3).normal(size=150)

    def step(i: Any, total: Any, x: Any) -> Any:
        return total * 0.5 + pt.sum(x[:i] * 0.1) + x[i]

    found = pytensor.scan(step, sequences=pt.arange(150), outputs_info=pt.zeros(()), non_sequences=x)[0]
    f = tg.interop.pytensor(found[-1], x)

    def expected(x: Any) -> Any:
        total = 0.0
        for i in range(150):
            total = total * 0.5 + tg.sum(x[:i] * 0.1) + x[i]
        return total

    for one, other in zip(tg.value_and_grad(f)(at), tg.value_and_grad(expected)(at), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11)


def test_last_states_of_long_loops() -> None:
    """Of which PyTensor keeps no other; and a loop backwards, of a matrix."""
    x, w = pt.matrix("x"), np.random.default_rng(1).normal(size=(200, 3))
    states = pytensor.scan(
        lambda a, s, x: pt.tanh(s @ x + a), sequences=w, outputs_info=pt.zeros(3), non_sequences=x, go_backwards=True
    )[0]  # fmt: skip
    f = tg.interop.pytensor(pt.sum(states[-3:] ** 2), x)

    def expected(x: Any) -> Any:
        s, kept = np.zeros(3), []
        for a in w[::-1]:
            s = np.tanh(s @ x + a)
            kept.append(s)
        return sum(tg.sum(each**2) for each in kept[-3:])

    at = sq / 8
    for one, other in zip(tg.value_and_grad(f)(at), tg.value_and_grad(expected)(at), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11)


def test_transforms_of_a_graph() -> None:
    x = pt.vector("x")
    f = tg.interop.pytensor(pt.sum(pt.sin(x) ** 2), x)
    points = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(tg.vmap(f)(points), (np.sin(points) ** 2).sum(axis=1))
    np.testing.assert_allclose(tg.hessian(f)(points[0]), np.diag(2 * np.cos(2 * points[0])), atol=1e-14)
    np.testing.assert_allclose(tg.compile(tg.grad(f), points[0])(points[1]), np.sin(2 * points[1]))
    both = tg.interop.pytensor([pt.sum(x), x * 2], [x])
    first, second = both(points[0])
    assert first == points[0].sum()
    np.testing.assert_array_equal(second, points[0] * 2)


def test_shared_variables_are_read_where_they_lie() -> None:
    x, scale = pt.vector("x"), pytensor.shared(np.array([1.0, 2.0]), name="scale")
    f = tg.jit(tg.grad(tg.interop.pytensor(pt.sum(x**2 * scale), x)))
    at = np.array([3.0, 4.0])
    np.testing.assert_array_equal(f(at), [6.0, 16.0])
    scale.set_value(np.array([10.0, 0.0]))
    np.testing.assert_array_equal(f(at), [60.0, 0.0])
    scale.get_value(borrow=True)[0] = 1.0
    scale.set_value(np.array([1.0, 1.0]), borrow=True)
    np.testing.assert_array_equal(f(at), [6.0, 8.0])


def test_text_names_the_variables() -> None:
    rate, t = pt.scalar("rate"), pt.vector("t")
    f = tg.interop.pytensor(pt.exp(-rate * t), [rate, t])
    assert f.source.startswith("def graph(rate, t):\n")
    assert "np.exp(" in f.source


def test_little_is_watched() -> None:
    """A closure over nodes would be a walk over all that PyTensor has."""
    x = pt.vector("x")
    f = tg.jit(tg.interop.pytensor(pt.sum(pt.softplus(x) * np.arange(3.0)), x))
    f(np.ones(3))
    assert "pytensor" not in str(f.watched())


def test_loops_that_a_condition_ends() -> None:
    x, w = pt.scalar("x"), pt.vector("w")
    roots = pytensor.scan(
        lambda s, x: (0.5 * (s + x / s), until(abs(s * s - x) < 1e-6 * x)),
        outputs_info=pt.as_tensor(np.float64(1.0)), non_sequences=x, n_steps=50,
    )[0]  # fmt: skip
    root = tg.compile(tg.value_and_grad(tg.interop.pytensor(roots[-1], x)), 2.0)
    for at in (2.0, 9.0, 0.01, 300.0):  # of another number of steps each
        np.testing.assert_allclose(root(at), [np.sqrt(at), 0.5 / np.sqrt(at)], rtol=1e-9)

    def step(a: Any, s: Any, t: Any, w: Any) -> Any:
        following = s * 0.5 + a * w[0]
        return [following, t + following**2, following * 3], until(following > 1.0)

    s, t, u = pytensor.scan(step, sequences=w, outputs_info=[pt.zeros(()), w[0], None], non_sequences=w)[0]
    f = tg.jit(tg.interop.pytensor(s[-1] * 2 + t[-1] + u[-1] ** 2, w))

    def expected(w: Any) -> Any:
        s, t = 0.0, w[0]
        for a in w:
            s = s * 0.5 + a * w[0]
            t = t + s**2
            if s > 1.0:
                break
        return s * 2 + t + (s * 3) ** 2

    for seed in range(4):
        at = np.random.default_rng(seed).uniform(0.1, 1.2, 12)
        for one, other in zip(tg.value_and_grad(f)(at), tg.value_and_grad(expected)(at), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
    whole = (
        s,
        pt.sum(t),
        u[-2],
        s.shape[0] * 1.0,
        s[::-1][-1],
        t[:5][-1],
        pt.set_subtensor(s[-1], -1.0).sum(),
    )
    for graph in whole:
        with pytest.raises(
            NotImplementedError, match=r"a condition `until`, so that the length .*states\[-1\]"
        ):
            tg.interop.pytensor(graph, w)


def test_conditions_on_constants_are_errors() -> None:
    x = pt.vector("x")
    with pytest.raises((ValueError, AssertionError), match="must be two"):
        tg.interop.pytensor(Assert("must be two")(x, pt.eq(x.shape[0], 2)), x, rewrites=())(np.ones(3))


def test_graphs_with_a_state_of_their_own_are_refused() -> None:
    x, rng = pt.vector("x"), pytensor.shared(np.random.default_rng(0), name="rng")
    count = pytensor.shared(np.array(0.0), name="count")
    count.default_update = count + 1
    draws = pt.random.normal(0, 1, size=3, rng=rng)
    inner = pytensor.compile.builders.OpFromGraph([x, rng], [x * pt.random.normal(0, 1, size=3, rng=rng)])
    graphs = {"draws random numbers by normal": draws * x, "draws": inner(x, rng), "updates count": count * x}
    for what, graph in graphs.items():
        with pytest.raises(NotImplementedError, match=f"the graph {what}.* input of the graph"):
            tg.interop.pytensor(graph, x)


def test_logarithms_of_logistic_functions_keep_their_digits() -> None:
    """Of what is moved, too; far out the logarithms are -x and x."""
    x = pt.vector("x")
    s, last = pt.sigmoid(x), np.array([3, 2, 1, 0])
    upper = {
        "plain": pt.log1p(-s), "expanded": pt.log1p(-pt.expand_dims(s, 0)), "taken": pt.log1p(-s[last]),
        "sliced": pt.log1p(-s[::-1]), "negated first": pt.log1p(pt.expand_dims(-s, 1)),
        "reshaped": pt.log1p(-s.reshape((2, 2)).T), "repeated": pt.log1p(-pt.broadcast_to(s, (1, 4))),
        "subtracted": pt.log((1 - s)[last]),
    }  # fmt: skip
    lower = {"taken": pt.log(s[last]), "plain": pt.log(s)}
    at = np.array([-700.0, -40.0, 38.5, 700.0])
    for sign, graphs in ((1.0, upper), (-1.0, lower)):
        for name, graph in graphs.items():
            value, gradient = tg.value_and_grad(tg.interop.pytensor(pt.sum(graph), x))(at)
            np.testing.assert_allclose(value, -np.sum(np.logaddexp(0.0, sign * at)), rtol=1e-15, err_msg=name)
            wanted = -sign * scipy.special.expit(sign * at)
            np.testing.assert_allclose(gradient, wanted, rtol=1e-14, err_msg=name)

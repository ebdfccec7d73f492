"""Linear algebra where it is not smooth, or not defined: bad operands, singular matrices, equal eigenvalues."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import tapegrad as tg
from helpers.triangles import folded
from tapegrad.linalg import LinAlgError

L = tg.linalg
GOOD = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
SINGULAR = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 1.0, 1.0]])


# --- bad operands ----------------------------------------------------------------------------------------------

SQUARE = ("solve", "inv", "det", "slogdet", "cholesky", "eigh", "eigvalsh", "eig", "eigvals", "solve_triangular",
          "cho_factor", "lu_factor", "expm", "sqrtm", "solve_continuous_lyapunov",
          "solve_discrete_lyapunov")  # fmt: skip
OF_TWO = ("solve", "solve_triangular", "solve_continuous_lyapunov", "solve_discrete_lyapunov")


@pytest.mark.parametrize("name", SQUARE)
@pytest.mark.parametrize("shape", [(2, 3), (3,), ()])
def test_matrices_are_to_be_square(name: str, shape: tuple[int, ...]) -> None:
    operands = [tg.ones(shape), tg.ones((3, 3))][: 1 + (name in OF_TWO)]
    with pytest.raises(
        LinAlgError, match=rf"linalg.{name}: .*{shape}".replace("(", r"\(").replace(")", r"\)")
    ):
        getattr(L, name)(*operands)


@pytest.mark.parametrize("name", ["qr", "svd", "svdvals", "pinv", "cond", "lstsq"])
def test_matrices_have_two_dimensions(name: str) -> None:
    with pytest.raises(LinAlgError, match=rf"numpy.linalg.{name}: a matrix or a stack of matrices is needed"):
        getattr(L, name)(*[tg.ones(3)] * (1 + (name == "lstsq")))


WRONG: dict[str, tuple[Callable[[], Any], type[Exception]]] = {
    "solve": (lambda: L.solve(tg.ones((3, 3)), tg.ones(2)), ValueError),
    "solve number": (lambda: L.solve(tg.ones((3, 3)), 1.0), ValueError),
    "solve stacks": (lambda: L.solve(tg.ones((2, 3, 3)), tg.ones((3, 3, 1))), ValueError),
    "solve_triangular": (lambda: L.solve_triangular(tg.ones((3, 3)), tg.ones((2, 1))), ValueError),
    "solve_triangular trans": (lambda: L.solve_triangular(tg.ones((3, 3)), tg.ones(3), "H"), ValueError),
    "cho_solve": (lambda: L.cho_solve((tg.ones((3, 3)), True), tg.ones(2)), ValueError),
    "lu_solve trans": (lambda: L.lu_solve(L.lu_factor(tg.tensor(GOOD)), tg.ones(3), 3), ValueError),
    "lu_solve rows": (lambda: L.lu_solve((tg.tensor(GOOD), [0, 7, 2]), tg.ones(3)), IndexError),
    "lu_solve exchanges": (lambda: L.lu_solve((tg.tensor(GOOD), [0, 1]), tg.ones(3)), ValueError),
    "eigh triangle": (lambda: L.eigh(tg.tensor(GOOD), "X"), ValueError),
    "qr mode": (lambda: L.qr(tg.tensor(GOOD), "full"), ValueError),
    "qr raw": (lambda: L.qr(tg.tensor(GOOD), "raw"), tg.UnsupportedError),
    "pinv": (lambda: L.pinv(tg.tensor(GOOD), 1e-3, rtol=1e-3), ValueError),
    "pinv cutoffs": (lambda: L.pinv(tg.ones((2, 3, 3)), [1e-3] * 3), ValueError),
    "lstsq rows": (lambda: L.lstsq(tg.ones((3, 2)), tg.ones(2)), LinAlgError),
    "lstsq stack": (lambda: L.lstsq(tg.ones((2, 3, 2)), tg.ones(2)), LinAlgError),
    "cond of nothing": (lambda: L.cond(tg.ones((0, 0))), LinAlgError),
    "cond norm": (lambda: L.cond(tg.tensor(GOOD), 7), ValueError),
    "solve_sylvester": (lambda: L.solve_sylvester(tg.ones((2, 2)), tg.ones((3, 3)), tg.ones((3, 2))), ValueError),
    "solve_discrete_lyapunov": (lambda: L.solve_discrete_lyapunov(tg.ones((2, 2)), tg.ones((3, 3))), ValueError),
    "lyapunov method": (lambda: L.solve_discrete_lyapunov(tg.tensor(GOOD), GOOD, "best"), ValueError),
    "block_diag": (lambda: L.block_diag(tg.ones((2, 2, 2))), ValueError),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_refused(name: str) -> None:
    call, kind = WRONG[name]
    with pytest.raises(kind, match=f"linalg.{name.split(' ')[0]}: " if " method" not in name else "method"):
        call()


# --- what LAPACK reports ---------------------------------------------------------------------------------------

FAILING: dict[str, tuple[Callable[[Any], Any], np.ndarray, str]] = {
    "solve": (lambda a: L.solve(a, np.ones(3)), SINGULAR, "singular"),
    "solve stack": (lambda a: L.solve(tg.stack([a, a + GOOD]), np.ones((3, 1))), SINGULAR, "singular"),
    "inv": (L.inv, SINGULAR, "singular"),
    "matrix_power": (lambda a: L.matrix_power(a, -1), SINGULAR, "singular"),
    "cholesky": (L.cholesky, -GOOD, "not positive definite"),
    "cholesky, large": (lambda a: L.cholesky(tg.linalg.block_diag(np.eye(20), a)), -GOOD, "not positive definite"),
    "cho_factor": (lambda a: L.cho_factor(a)[0], -GOOD, "not positive definite"),
    "solve_triangular": (lambda a: L.solve_triangular(a, np.ones(3)), np.diag([1.0, 0.0, 2.0]), "singular"),
    "lu_solve": (lambda a: L.lu_solve(L.lu_factor(a), np.ones(3)), SINGULAR, "singular"),
    "solve_sylvester": (lambda a: L.solve_sylvester(a, -GOOD, GOOD), GOOD, "singular"),
    "sqrtm": (L.sqrtm, -GOOD, "complex"),
    "eigvals": (L.eigvals, np.full((3, 3), np.nan), "nan or infinite"),
}  # fmt: skip
# Functions whose values are there, and whose derivatives are not.
NOT_SMOOTH: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "slogdet": (lambda a: L.slogdet(a)[1], np.diag([1.0, 2.0, 0.0])),
    "lu_factor": (lambda a: L.lu_factor(a)[0], SINGULAR),
    "qr": (lambda a: L.qr(a)[0], np.zeros((3, 3))),
    "eigh, an eigenvector": (lambda a: L.eigh(a)[1][:, 0], np.eye(3)),
    "eigh, an eigenvalue": (lambda a: L.eigh(a)[0][0], np.eye(3)),
    "eigh, a function of the matrix": (
        lambda a: (L.eigh(a)[1] * L.eigh(a)[0] ** 2) @ L.eigh(a)[1].T * np.arange(9.0).reshape(3, 3),
        np.eye(3),
    ),
    "eig, an eigenvector": (lambda a: L.eig(a)[1][:, 0], np.eye(3)),
    "eig, an eigenvalue": (lambda a: L.eig(a)[0][0], np.eye(3)),
    "eigvals, without a basis of vectors": (L.eigvals, np.eye(3) + np.eye(3, k=1)),
    "svd, a vector": (lambda a: L.svd(a)[0][:, 0], np.eye(3)),
    "svd, a singular value": (lambda a: L.svd(a)[1][0], np.eye(3)),
    "svd, vectors of zero": (
        lambda a: L.svd(a, full_matrices=False)[0][:, 1] ** 3,
        np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]),
    ),
    "sqrtm": (L.sqrtm, np.diag([1.0, 2.0, 0.0])),
}  # fmt: skip


def check_usable() -> None:
    x = tg.tensor(GOOD)
    tg.sum(L.inv(x)).backward()
    np.testing.assert_allclose(x.grad, -np.linalg.inv(GOOD).T @ np.ones((3, 3)) @ np.linalg.inv(GOOD).T)


@pytest.mark.parametrize("name", FAILING)
def test_a_status_of_lapack_is_an_error(name: str) -> None:
    function, bad, message = FAILING[name]
    with pytest.raises(LinAlgError, match=rf"linalg\.\w+: .*{message}"):
        function(tg.tensor(bad))
    replayed, gradient = tg.jit(function), tg.value_and_grad(tg.jit(lambda a: tg.sum(function(a))))
    good = GOOD if name != "solve_sylvester" else 2 * GOOD
    expected, slope = replayed(good), gradient(good)[1]
    for call in (replayed, gradient, tg.grad(lambda a: tg.sum(function(a)))):
        with pytest.raises(LinAlgError, match=message):
            call(bad)
    np.testing.assert_array_equal(replayed(good), expected)
    np.testing.assert_array_equal(gradient(good)[1], slope)
    check_usable()


@pytest.mark.parametrize("name", NOT_SMOOTH)
def test_a_derivative_that_is_not_there_is_an_error(name: str, rng: np.random.Generator) -> None:
    function, bad = NOT_SMOOTH[name]

    def number(a: Any) -> Any:
        return tg.sum(function(a))

    direction = rng.standard_normal(bad.shape)
    good = GOOD if bad.shape == GOOD.shape else bad + direction
    replayed = tg.grad(tg.jit(number))
    expected = replayed(good)
    x = tg.tensor(bad)
    y = number(x)
    for call in (
        lambda: y.backward(retain_graph=True),
        lambda: y.backward(retain_graph=True, create_graph=True),
        lambda: replayed(bad),
        lambda: tg.jvp(number, (bad,), (direction,)),
        lambda: tg.jvp(tg.jit(number), (bad,), (direction,)),
        lambda: tg.hvp(number)(bad, direction),
    ):
        with pytest.raises(LinAlgError):
            call()
    np.testing.assert_array_equal(replayed(good), expected)
    check_usable()


def test_a_zero_cotangent_asks_for_no_derivative() -> None:
    x = tg.tensor(SINGULAR)
    (L.slogdet(x)[1] * 0.0 + tg.sum(x)).backward()
    np.testing.assert_array_equal(x.grad, np.ones((3, 3)))


@pytest.mark.parametrize("name", ["inv", "det", "expm", "svdvals", "cholesky", "pinv"])
def test_nan_is_handed_on_or_refused(name: str) -> None:
    try:
        result = getattr(L, name)(tg.full((2, 2), np.nan))
    except LinAlgError:
        return
    assert np.isnan(result.data).any()


# --- singular matrices -----------------------------------------------------------------------------------------


def adjugate(a: np.ndarray) -> np.ndarray:
    n = len(a)
    minors = [
        [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(n)]
        for i in range(n)
    ]
    return np.array(minors).T


OF_RANK = {
    0: np.zeros((3, 3)),
    1: np.outer([1.0, 2.0, 3.0], [1.0, -1.0, 2.0]),
    2: SINGULAR,
    3: GOOD,
}


@pytest.mark.parametrize("rank", OF_RANK)
def test_determinants_have_derivatives_everywhere(rank: int, rng: np.random.Generator) -> None:
    a, (d, e) = OF_RANK[rank], rng.standard_normal((2, 3, 3))
    gradient = tg.grad(L.det)(a)
    np.testing.assert_allclose(gradient, adjugate(a).T, atol=1e-12)
    np.testing.assert_allclose(tg.jvp(L.det, (a,), (d,))[1], np.sum(gradient * d), atol=1e-12)
    second = np.sum(tg.hvp(L.det)(a, d) * e)
    step = 1e-3
    about = np.sum((adjugate(a + step * d) - adjugate(a - step * d)).T * e) / (
        2 * step
    )  # exact: of second degree
    np.testing.assert_allclose(second, about, atol=1e-9)
    np.testing.assert_allclose(np.sum(tg.hessian(L.det)(a) * d[:, :, None, None] * e), about, atol=1e-9)


@pytest.mark.parametrize("size", [1e-200, 1e-40, 1e-20, 1e-3, 1e20, 1e150])
@pytest.mark.parametrize("rank", OF_RANK)
def test_derivatives_of_determinants_have_no_scale_of_their_own(
    rank: int, size: float, rng: np.random.Generator
) -> None:
    """Derivatives with two or three rows are those of a matrix of another size, multiplied."""
    for a in (OF_RANK[rank][:2, :2], OF_RANK[rank]):
        d, n = rng.standard_normal(a.shape), len(a)
        with np.errstate(over="ignore"):
            factor, squares = np.float64(size) ** (n - 1), np.float64(size) ** (n - 2)
        if not 1e-290 < factor < 1e290:
            continue
        expected, bound = (
            adjugate(a).T if n > 2 else np.array([[a[1, 1], -a[1, 0]], [-a[0, 1], a[0, 0]]]),
            1e-12 * factor,
        )
        np.testing.assert_allclose(tg.grad(L.det)(size * a), factor * expected, rtol=0, atol=bound)
        along = tg.jvp(L.det, (size * a,), (d,))[1]
        np.testing.assert_allclose(along, factor * np.sum(expected * d), rtol=0, atol=10 * bound)
        second = tg.hvp(L.det)(size * a, d)
        np.testing.assert_allclose(second / squares, tg.hvp(L.det)(a, d), rtol=0, atol=1e-9)


def test_single_determinants_have_no_scale_of_their_own() -> None:
    a = SINGULAR.astype(np.float32)
    for size in (2.0**-40, 2.0**-20, 2.0**40):
        found = tg.grad(L.det)((size * a).astype(np.float32)) / size**2
        np.testing.assert_allclose(found, adjugate(SINGULAR).T, rtol=0, atol=1e-4)
        second = tg.hvp(L.det)((size * a).astype(np.float32), a) / size
        np.testing.assert_allclose(second, tg.hvp(L.det)(a, a), rtol=0, atol=1e-3)


def test_the_kink_of_the_nuclear_norm() -> None:
    np.testing.assert_array_equal(tg.grad(lambda a: L.norm(a, "nuc"))(np.zeros((2, 3))), np.zeros((2, 3)))
    a = np.outer([1.0, 2.0], [2.0, 1.0])
    np.testing.assert_allclose(tg.grad(lambda a: L.norm(a, "nuc"))(a), a / 5.0, atol=1e-14)


# --- equal values ----------------------------------------------------------------------------------------------

Q = np.linalg.qr(np.random.default_rng(4).standard_normal((4, 4)))[0]
TIED = (Q * [1.0, 2.0, 2.0, 5.0]) @ Q.T


def directions(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    d = rng.standard_normal((4, 4))
    return d, d + d.T


def test_functions_that_treat_equal_eigenvalues_alike(rng: np.random.Generator) -> None:
    _, symmetric = directions(rng)
    function = lambda a: tg.sum(tg.exp(L.eigvalsh(a)))  # noqa: E731
    expected = (Q * np.exp([1.0, 2.0, 2.0, 5.0])) @ Q.T
    np.testing.assert_allclose(tg.grad(function)(TIED), folded(expected), rtol=1e-12)
    np.testing.assert_allclose(
        tg.jvp(function, (TIED,), (symmetric,))[1], np.sum(expected * symmetric), rtol=1e-12
    )
    np.testing.assert_allclose(tg.grad(lambda a: tg.sum(L.eigh(a)[0]))(TIED), np.eye(4), atol=1e-13)


def test_equal_eigenvalues_share_their_derivative() -> None:
    space = Q[:, 1:3] @ Q[:, 1:3].T / 2
    for k in (1, 2):
        np.testing.assert_allclose(tg.grad(lambda a, k=k: L.eigvalsh(a)[k])(TIED), folded(space), atol=1e-13)
        slope = tg.jvp(lambda a, k=k: L.eigvalsh(a)[k], (TIED,), (np.diag([1.0, 2, 3, 4]),))[1]
        np.testing.assert_allclose(slope, np.sum(space * np.diag([1.0, 2, 3, 4])), atol=1e-13)


def test_a_projection_to_the_space_of_equal_eigenvalues(rng: np.random.Generator) -> None:
    w = rng.standard_normal((4, 4))

    def projected(a: Any) -> Any:
        v = L.eigh((a + a.T) / 2)[1][:, 1:3]
        return tg.sum(v @ v.T * w)

    _, d = directions(rng)
    h = 1e-6
    about = (projected(tg.tensor(TIED + h * d)).item() - projected(tg.tensor(TIED - h * d)).item()) / (2 * h)
    assert np.sum(tg.grad(projected)(TIED) * d) == pytest.approx(about, rel=1e-6)


def test_equal_singular_values(rng: np.random.Generator) -> None:
    a = Q[:, :3]  # all of them are 1
    np.testing.assert_allclose(tg.grad(lambda a: tg.sum(L.svdvals(a) ** 3))(a), 3 * a, atol=1e-12)
    np.testing.assert_allclose(tg.grad(lambda a: L.norm(a, 2))(a), a / 3, atol=1e-12)

    def polar(a: Any) -> Any:
        u, _, vh = L.svd(a, full_matrices=False)
        return tg.sum(u @ vh * np.arange(12.0).reshape(4, 3))

    d, h = rng.standard_normal((4, 3)), 1e-6
    about = (polar(tg.tensor(a + h * d)).item() - polar(tg.tensor(a - h * d)).item()) / (2 * h)
    assert np.sum(tg.grad(polar)(a) * d) == pytest.approx(about, rel=1e-6)


# --- operands --------------------------------------------------------------------------------------------------


def layouts(a: np.ndarray) -> list[tg.Tensor]:
    """Return the same matrices in several memory layouts."""
    back = tg.asarray(np.ascontiguousarray(a[..., ::-1, ::-1]))
    return [
        tg.asarray(np.asfortranarray(a)),
        back[..., ::-1, ::-1],
        tg.asarray(np.repeat(a, 2, -1))[..., ::2],
    ]


@pytest.mark.parametrize(
    "function",
    [
        lambda a: L.solve(a, np.arange(3.0)),
        lambda a: L.solve(GOOD, a),
        L.inv,
        L.det,
        L.cholesky,
        lambda a: L.cholesky(a, upper=True),
        lambda a: L.solve_triangular(a, GOOD),
        lambda a: L.solve_triangular(a, np.ones(3), 1, lower=True),
        lambda a: L.eigh(a)[1],
        lambda a: L.qr(a)[1],
        lambda a: L.svd(a)[2],
        L.expm,
        L.sqrtm,
        L.pinv,
    ],
)
def test_matrices_may_lie_in_any_way(function: Callable[[Any], Any]) -> None:
    for stack in (GOOD, np.stack([GOOD, 2 * GOOD, GOOD + np.eye(3)])):
        plain = tg.tensor(stack)
        expected = function(plain)
        tg.sum(expected**2).backward()
        for x in layouts(stack):
            y = function(x)
            np.testing.assert_allclose(y.data, expected.data, rtol=1e-12, atol=1e-12)
            tg.sum(y**2).backward()
            np.testing.assert_allclose(x.grad, plain.grad, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: L.solve(a, b),
        lambda a, b: L.solve_triangular(a, b, lower=True),
        lambda a, b: L.cho_solve((a, True), b),
        lambda a, b: L.cho_solve((a, False), b),
        lambda a, b: L.lu_solve(L.lu_factor(a), b),
    ],
)
def test_one_vector_for_a_stack_of_matrices(function: Callable[[Any, Any], Any]) -> None:
    """A 1-d operand is one vector for all matrices; two rows are not two vectors."""
    stack, b = np.stack([GOOD, 2 * GOOD + np.eye(3)]), np.array([1.0, -2.0, 0.5])
    x = tg.tensor(b)
    found = function(tg.tensor(stack), x)
    np.testing.assert_allclose(found.data, [function(tg.tensor(a), b).data for a in stack], rtol=1e-12)
    tg.sum(found).backward()
    each = [tg.grad(lambda b, a=a: tg.sum(function(a, b)))(b) for a in stack]
    np.testing.assert_allclose(x.grad, sum(each), rtol=1e-12)
    with pytest.raises(ValueError, match="right side"):
        function(tg.tensor(stack), np.ones((2, 4)))


def test_integers_are_floats_here() -> None:
    a = np.array([[2, 1], [1, 3]])
    found = L.solve(tg.tensor(a), tg.tensor([1.0, 2.0]))
    np.testing.assert_allclose(found.data, np.linalg.solve(a, [1.0, 2.0]))
    assert L.cholesky(tg.tensor(a)).constant
    assert L.solve(tg.ones((1, 1), np.float32), tg.ones(1)).dtype == np.float64


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 2, 2)])
@pytest.mark.parametrize("name", ["inv", "det", "cholesky", "eigvalsh", "svdvals", "expm", "pinv", "sqrtm"])
def test_nothing_has_a_result(name: str, shape: tuple[int, ...]) -> None:
    x = tg.zeros(shape, constant=False)
    y = getattr(L, name)(x)
    if hasattr(np.linalg, name):
        assert y.shape == getattr(np.linalg, name)(np.zeros(shape)).shape
    y.backward()
    assert x.grad is None or x.grad.shape == shape


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3)])
def test_factors_of_nothing(shape: tuple[int, ...]) -> None:
    for name, arguments in (("qr", ()), ("qr", ("complete",)), ("svd", ()), ("svd", (False,))):
        found, expected = (getattr(n.linalg, name)(n.zeros(shape), *arguments) for n in (tg, np))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a.data, b)


def test_results_have_names() -> None:
    assert L.slogdet(tg.tensor(GOOD)).logabsdet.shape == ()
    assert L.eigh(tg.tensor(GOOD)).eigenvectors.shape == (3, 3)
    assert L.qr(tg.tensor(GOOD)).R.shape == (3, 3)
    assert L.svd(tg.tensor(GOOD)).Vh.shape == (3, 3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_cotangents_of_large_cholesky_factors(dtype: Any, rng: np.random.Generator) -> None:
    """Cotangents are ``L^-T (P + P^T) L^-1 / 2``, folded; P: lower triangle of ``L^T L_bar``, half its diagonal."""
    for n in (1, 2, 7, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 96, 97, 100, 128, 130, 145):
        a, l_bar = rng.standard_normal((2, n, n)), rng.standard_normal((2, n, n))
        a = a @ a.swapaxes(1, 2) + n * np.eye(n)
        x = tg.tensor(a.astype(dtype))
        (tg.sum(x) + tg.sum(L.cholesky(x) * l_bar.astype(dtype))).backward()
        factor = np.linalg.cholesky(a)
        right = factor.swapaxes(1, 2)
        p = np.tril(right @ np.tril(l_bar)) * (1 - np.eye(n) / 2)
        solved = np.linalg.solve(right, p + p.swapaxes(1, 2)).swapaxes(1, 2)
        expected = 1 + folded(np.linalg.solve(right, solved) / 2)
        assert x.grad.dtype == dtype
        np.testing.assert_allclose(x.grad, expected, rtol=0, atol=1e-14 if dtype == np.float64 else 3e-6)


# --- exponentials of badly scaled matrices ---------------------------------------------------------------------


def scaled_matrices(s: float) -> dict[str, np.ndarray]:
    """Return matrices with elements as far apart as a scale and its inverse."""
    full = np.array([[-1.0, s, 3.0], [1 / s, -2.0, 0.5 / s], [0.1, s, -0.3]])
    blocks = np.kron(np.eye(2), [[0.3, -1.0], [0.7, 0.2]])
    blocks[:2, 2:] = [[s, 2 * s], [3 * s, 5 * s]]
    return {
        "upper triangle": np.array([[-1.0, s, 3 * s], [0.0, -2.0, 0.5 * s], [0.0, 0.0, -0.3]]),
        "lower triangle": np.array([[-1.0, 0.0], [s, -1.0]]),
        "full": full,
        "complex": full * (0.6 + 0.8j),
        "blocks": blocks,
    }


def by_taylor_series(a: np.ndarray) -> np.ndarray:
    with mpmath.workdps(40):
        return np.array(mpmath.expm(mpmath.matrix(a.tolist()), "taylor").tolist(), a.dtype)


@pytest.mark.parametrize("scale", [1e3, 1e12, 1e16])
@pytest.mark.parametrize("kind", scaled_matrices(1.0))
def test_exponentials_of_badly_scaled_matrices_have_all_digits(kind: str, scale: float) -> None:
    """Element by element, and so have their derivatives, in all modes; by power series of 40 digits."""
    a = scaled_matrices(scale)[kind]
    n, ones = len(a), np.ones_like(a)
    both = by_taylor_series(np.block([[a, ones], [0 * a, a]]))
    value, slope = both[:n, :n], both[:n, n:]
    gradient = by_taylor_series(np.block([[a.conj().T, ones], [0 * a, a.conj().T]]))[:n, n:]
    x = tg.tensor(a)
    y = L.expm(x)
    y.backward(ones)
    found = {
        "value": (y.data, value),
        "replay": (tg.jit(L.expm)(a), value),
        "gradient": (x.grad, gradient),
        "tangent": (tg.jvp(L.expm, (a,), (ones,))[1], slope),
        "tangent of a replay": (tg.jit(lambda a: tg.jvp(L.expm, (a,), (np.ones_like(a),))[1])(a), slope),
    }
    assert not [key for key, (one, other) in found.items() if not np.allclose(one, other, 2e-14, atol=1e-40)]

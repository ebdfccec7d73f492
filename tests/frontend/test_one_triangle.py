"""Matrices of which one triangle is read: values and derivatives of all orders are of one function, NumPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.stats

import tapegrad as tg

N = 3
ROOT, SKEW = np.random.default_rng(11).standard_normal((2, 9, N, N))
STACK = ROOT @ ROOT.swapaxes(1, 2) + np.diag([2.0, 4.0, 7.0]) + 0.2 * SKEW  # not symmetric
LARGE = 0.1 * np.random.default_rng(12).standard_normal((20, 20)) + np.diag(np.arange(20.0) + 5.0)
W = np.random.default_rng(13).standard_normal((20, 20))
MEAN = np.array([0.4, -1.0, 0.7])
_STEPS = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}  # of central differences of order 6
H = 2e-3


def weighed(y: Any) -> Any:
    """A number of a result."""
    return (y * W[: y.shape[-1], : y.shape[-1]]).sum() if y.ndim > 1 else (y * W[0, : y.shape[0]]).sum()


def projected(linalg: Any, a: Any, **arguments: Any) -> Any:
    """A matrix that does not depend on the signs of eigenvectors."""
    values, vectors = linalg.eigh(a, **arguments)
    return (vectors * values[..., None, :] ** 2) @ vectors.swapaxes(-1, -2)


def rebuilt(linalg: Any, a: Any) -> Any:
    u, s, vh = linalg.svd(a, hermitian=True)
    return (u * s[..., None, :] ** 3) @ vh


def solved(linalg: Any, a: Any, lower: bool) -> Any:
    b = W[: a.shape[-1], :2]
    return (linalg.cho_solve(linalg.cho_factor(a, lower), b) * b).sum()


CALLS: dict[str, tuple[Callable[[Any], Any], Callable[[np.ndarray], Any]]] = {
    name: (lambda a, call=call: call(tg.linalg, a), lambda a, call=call, theirs=theirs: call(theirs, a))
    for name, theirs, call in (
        ("cholesky", np.linalg, lambda linalg, a: linalg.cholesky(a)),
        ("cho_factor", scipy.linalg, lambda linalg, a: solved(linalg, a, False)),
        ("cho_factor lower", scipy.linalg, lambda linalg, a: solved(linalg, a, True)),
        ("eigvalsh", np.linalg, lambda linalg, a: linalg.eigvalsh(a)),
        ("eigvalsh U", np.linalg, lambda linalg, a: linalg.eigvalsh(a, "U")),
        ("eigh", np.linalg, lambda linalg, a: projected(linalg, a)),
        ("eigh U", np.linalg, lambda linalg, a: projected(linalg, a, UPLO="U")),
        ("svd hermitian", np.linalg, lambda linalg, a: rebuilt(linalg, a)),
        ("svd values", np.linalg, lambda linalg, a: linalg.svd(a, compute_uv=False, hermitian=True)),
        ("pinv hermitian", np.linalg, lambda linalg, a: linalg.pinv(a, hermitian=True)),
    )
} | {
    "cholesky upper": (
        lambda a: tg.linalg.cholesky(a, upper=True),
        lambda a: np.linalg.cholesky(a.swapaxes(-1, -2)).swapaxes(-1, -2),
    )
}  # fmt: skip
CALLS["multivariate_normal"] = (
    lambda a: tg.stats.multivariate_normal.logpdf(MEAN, None, a),
    lambda a: scipy.stats.multivariate_normal.logpdf(MEAN, None, a),
)
READS_UPPER = {"cho_factor", "eigvalsh U", "eigh U", "cholesky upper"}
OF_STACKS = [name for name in CALLS if name[:3] not in ("cho", "mul") or name == "cholesky"]


def number_of(name: str, which: int) -> Callable[[Any], Any]:
    """A function of one matrix, or of a stack, that is one number: ours, or NumPy's."""

    def number(a: Any) -> Any:
        y = CALLS[name][which](a)
        return weighed(y) if np.ndim(y) else y

    return number


def differences(f: Callable[[np.ndarray], Any], a: np.ndarray) -> np.ndarray:
    """The derivatives of a function by each element, of the result's shape behind that of `a`."""

    def along(at: tuple[int, ...]) -> Any:
        step = np.zeros_like(a)
        step[at] = H
        return sum((f(a + k * step) - f(a - k * step)) * c / H for k, c in _STEPS.items())

    return np.array([along(at) for at in np.ndindex(*a.shape)]).reshape(a.shape + np.shape(f(a)))


def by_backward(f: Any, a: np.ndarray, **options: Any) -> Any:
    x = tg.tensor(a)
    loss = f(x) + tg.sum(x)  # a second contribution, to which this one is added
    loss.backward(**options)
    return np.asarray(x.grad.detach() if options else x.grad) - 1.0


def by_jvp(f: Any, a: np.ndarray) -> Any:
    units = np.eye(a.size).reshape(-1, *a.shape)
    return np.array([tg.jvp(f, (a,), (unit,))[1] for unit in units]).reshape(a.shape)


MODES: dict[str, Callable[[Any, np.ndarray], Any]] = {
    "backward": by_backward,
    "create_graph": lambda f, a: by_backward(f, a, create_graph=True),
    "grad": lambda f, a: tg.grad(f)(a),
    "replayed": lambda f, a: tg.grad(tg.jit(f))(a),
    "fused": lambda f, a: tg.jit(tg.grad(f), fuse=True)(a),
    "jvp": by_jvp,
    "jvp of a replay": lambda f, a: by_jvp(tg.jit(f), a),
    "vmap": lambda f, a: tg.vmap(tg.grad(f))(np.stack([a] * 9))[8],
    "compiled": lambda f, a: tg.compile(tg.grad(f), a)(a),
    "float32": lambda f, a: np.float64(tg.grad(f)(a.astype(np.float32))),
}


@pytest.mark.parametrize("name", CALLS)
def test_derivatives_are_by_the_triangle_that_is_read(name: str) -> None:
    f = number_of(name, 0)
    for a in (STACK[0], LARGE)[: 1 + (name != "multivariate_normal")]:
        if a is LARGE:
            direction = np.random.default_rng(2).standard_normal(a.shape)
            moved = sum((number_of(name, 1)(a + k * H * direction) - number_of(name, 1)(a - k * H * direction)) * c / H
                        for k, c in _STEPS.items())  # fmt: skip
            np.testing.assert_allclose(np.sum(tg.grad(f)(a) * direction), moved, rtol=1e-8)
            np.testing.assert_allclose(tg.jvp(f, (a,), (direction,))[1], moved, rtol=1e-8)
            continue
        expected = differences(number_of(name, 1), a)
        np.testing.assert_array_equal(
            expected[np.tril_indices(N, -1) if name in READS_UPPER else np.triu_indices(N, 1)], 0
        )
        for mode, gradient in MODES.items():
            tolerance = 1e-4 if mode == "float32" else 1e-9
            found = gradient(f, a)
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, err_msg=mode)


@pytest.mark.parametrize("name", CALLS)
def test_second_derivatives_are_by_that_triangle(name: str, rng: np.random.Generator) -> None:
    f, a = number_of(name, 0), STACK[0]
    expected = differences(tg.grad(f), a)
    direction = rng.standard_normal(a.shape)
    along = np.sum(expected * direction, (2, 3))
    for hessian in (tg.hessian(f)(a), tg.jacobian(tg.grad(tg.jit(f)))(a), tg.hessian(tg.jit(f))(a)):
        np.testing.assert_allclose(hessian, expected, rtol=1e-8, atol=1e-8)
    for product in (tg.hvp(f)(a, direction), tg.jvp(tg.grad(f), (a,), (direction,))[1]):
        np.testing.assert_allclose(product, along, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", OF_STACKS)
def test_stacks_are_as_each_of_their_matrices(name: str) -> None:
    f = CALLS[name][0]
    gradient = tg.grad(
        lambda a: tg.sum(f(a) * np.cos(np.arange(9.0)).reshape((9,) + (1,) * (f(a).ndim - 1)))
    )(STACK)
    for k in range(9):
        expected = np.cos(k) * tg.grad(lambda a: tg.sum(f(a)))(STACK[k])
        np.testing.assert_allclose(gradient[k], expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", CALLS)
def test_what_is_not_read_may_be_nan(name: str) -> None:
    """LAPACK does not look there, nor do derivatives."""
    a = STACK[0].copy()
    a[np.tril_indices(N, -1) if name in READS_UPPER else np.triu_indices(N, 1)] = 0.0
    b = np.where(a == 0.0, np.nan, a)
    f = number_of(name, 0)
    for gradient in (tg.grad(f), tg.grad(tg.jit(f))):
        np.testing.assert_array_equal(gradient(b), gradient(a))


def test_total_derivatives_of_symmetric_matrices_do_not_depend_on_the_triangle() -> None:
    for f, g in (
        (tg.linalg.cholesky, lambda a: tg.linalg.cholesky(a, upper=True).T),
        (tg.linalg.eigvalsh, lambda a: tg.linalg.eigvalsh(a, "U")),
    ):
        one, other = (tg.grad(lambda x, h=h: weighed(h(x @ x.T)))(ROOT[0]) for h in (f, g))
        np.testing.assert_allclose(one, other, rtol=1e-10)

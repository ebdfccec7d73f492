"""Cases of linear algebra: systems of equations, factors, decompositions, functions of matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.spatial.distance

from helpers.functions import Case, Make, case, normal, uniform


def regular(*shape: int) -> Make:
    """Matrices that are far from singular."""
    return lambda rng: rng.standard_normal(shape) + 3.0 * np.eye(shape[-1])


def spaced(*shape: int) -> Make:
    """Matrices whose eigenvalues are real and apart from each other."""
    return lambda rng: 0.2 * rng.standard_normal(shape) + np.diag(2.0 * np.arange(shape[-1]) + 1.0)


def unfolded(shape: tuple[int, ...], rows: int) -> Make:
    """Arrays of a shape that are regular as matrices of so many rows."""
    return lambda rng: regular(rows, rows)(rng).reshape(shape)


def positive(xp: Any, x: Any) -> Any:
    """Positive definite matrices, whose eigenvalues are apart from each other."""
    return x @ xp.swapaxes(x, -1, -2) + np.diag(np.arange(x.shape[-1]) + 1.0).astype(x.dtype.char.lower())


def of_numpy(name: str, *makers: Make, **arguments: Any) -> Case:
    """A case of a function of numpy.linalg."""
    return case(
        f"linalg.{name}", lambda xp, *xs: getattr(xp.linalg, name)(*xs, **arguments), *makers, layouts=False
    )


def of_positive(name: str, *shape: int, **arguments: Any) -> Case:
    """Cases with positive definite matrices."""
    return case(
        f"linalg.{name}",
        lambda xp, x: getattr(xp.linalg, name)(positive(xp, x), **arguments),
        normal(*shape),
        layouts=False,
    )


def real(x: Any) -> Any:
    return x.real if isinstance(x, np.ndarray) else x


def of_scipy(call: Callable[..., Any], name: str, *makers: Make, **options: Any) -> Case:
    """A case of a function that SciPy has: the oracle is called with `scipy.linalg`."""
    return case(
        f"linalg.{name}",
        lambda xp, *xs: call(scipy.linalg if xp is np else xp.linalg, *xs),
        *makers,
        by_numpy=False,
        layouts=False,
        **options,
    )


def solved_by_factors(linalg: Any, a: Any, b: Any, trans: int) -> Any:
    return linalg.lu_solve(linalg.lu_factor(a), b, trans)


def distances(name: str, *makers: Make, **arguments: Any) -> Case:
    """A case of a function of scipy.spatial.distance."""
    return case(
        f"linalg.{name}",
        lambda xp, *xs: getattr(scipy.spatial.distance if xp is np else xp.linalg, name)(*xs, **arguments),
        *makers,
        by_numpy=False,
        layouts=False,
        dtypes=("float64",),  # SciPy converts float32
    )


def bands(*shape: int, main: int) -> Make:
    """Diagonals of which the main one is large."""
    return lambda rng: rng.standard_normal(shape) + 6.0 * (np.arange(shape[0]) == main)[:, None]


def first_large(n: int) -> Make:
    return lambda rng: rng.standard_normal(n) + 6.0 * (np.arange(n) == 0)


def upper(linalg: Any, x: Any) -> Any:
    """Bands above the diagonal, without the corners, where SciPy leaves what it is given."""
    return x * (np.arange(x.shape[1]) >= np.arange(x.shape[0])[::-1, None]).astype(x.dtype)


def projected(xp: Any, x: Any, name: str, **arguments: Any) -> Any:
    """The projection to what is beside the first columns of a complete factor."""
    factor = getattr(xp.linalg, name)(x, **arguments)[0][:, min(x.shape) :]
    return factor @ xp.swapaxes(factor, -1, -2)


W = np.array([0.5, 2.0, 1.0])
METRICS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in ("chebyshev", "correlation", "cosine", "mahalanobis", "seuclidean")),
    *(
        (name, weights)
        for name in ("braycurtis", "canberra", "cityblock", "euclidean", "sqeuclidean")
        for weights in ({}, {"w": W})
    ),
    *(("minkowski", given) for given in ({}, {"p": 3}, {"p": 1.5, "w": W}, {"p": np.inf})),
    ("seuclidean", {"V": W}),
    ("mahalanobis", {"VI": np.diag(W) + 0.1}),
]

ROOTS: dict[str, Any] = {"dtypes": ("float64",), "replays": False}  # as many as the elements ask for

CASES = [
    of_numpy("solve", regular(3, 3), normal(3)),
    of_numpy("solve", regular(2, 3, 3), normal(3, 2)),
    of_numpy("solve", regular(3, 3), normal(2, 3, 1)),
    of_numpy("solve", regular(2, 3, 3), normal(3)),  # what has one dimension is a vector
    of_numpy("solve", regular(3, 3, 3), normal(3, 3)),  # and what has two a matrix
    of_numpy("solve", regular(14, 14), normal(14, 3)),
    of_numpy("inv", regular(3, 3)),
    of_numpy("inv", regular(2, 13, 13)),
    of_numpy("tensorinv", unfolded((2, 3, 6), 6)),
    of_numpy("tensorsolve", unfolded((2, 3, 6), 6), normal(2, 3)),
    of_numpy("tensorsolve", normal(4, 2, 2), normal(2, 2), axes=(0,)),
    of_numpy("det", normal(3, 3)),
    of_numpy("det", normal(2, 2, 2)),
    of_numpy("slogdet", normal(3, 3)),
    of_numpy("slogdet", regular(2, 13, 13)),
    of_positive("cholesky", 3, 3),
    of_positive("cholesky", 2, 3, 3, upper=True),
    of_positive("cholesky", 36, 36),
    of_positive("eigh", 3, 3),
    of_positive("eigh", 2, 2, 2, UPLO="U"),
    of_positive("eigvalsh", 3, 3),
    of_numpy("eig", spaced(3, 3)),
    of_numpy("eigvals", spaced(2, 3, 3)),
    of_numpy("qr", normal(4, 3)),
    of_numpy("qr", normal(2, 3, 4)),
    of_numpy("qr", normal(3, 3), mode="r"),
    case("linalg.qr", lambda xp, x: projected(xp, x, "qr", mode="complete"), normal(4, 2), layouts=False),
    of_numpy("svd", normal(3, 3)),
    of_numpy("svd", normal(2, 4, 3), full_matrices=False),
    of_numpy("svd", normal(2, 4), full_matrices=False),
    of_numpy("svd", normal(3, 2), compute_uv=False),
    case("linalg.svd", lambda xp, x: projected(xp, x, "svd"), normal(4, 2), layouts=False),
    of_numpy("svdvals", normal(2, 3, 2)),
    of_numpy("pinv", normal(4, 3)),
    of_numpy("pinv", normal(2, 2, 3), rtol=1e-6),
    case(
        "linalg.lstsq",
        lambda xp, a, b: [y for k, y in enumerate(xp.linalg.lstsq(a, b)) if k != 2],
        normal(5, 3),
        normal(5, 2),
        layouts=False,
    ),
    case("linalg.lstsq", lambda xp, a, b: xp.linalg.lstsq(a, b)[0], normal(2, 4), normal(2), layouts=False),
    of_numpy("cond", normal(3, 3)),
    of_numpy("cond", regular(2, 3, 3), p=1),
    of_numpy("cond", regular(2, 2), p="nuc"),
    of_numpy("norm", normal(3, 2), ord="nuc"),
    of_numpy("norm", normal(2, 3, 4), ord=2, axis=(2, 0), keepdims=True),
    of_numpy("matrix_norm", normal(2, 3, 3), ord=-2),
    of_numpy("matrix_power", regular(3, 3), n=-3),
    of_scipy(lambda s, a, b: s.solve_triangular(a, b), "solve_triangular", regular(3, 3), normal(3)),
    of_scipy(
        lambda s, a, b: s.solve_triangular(a, b, "T", lower=True),
        "solve_triangular", regular(14, 14), normal(14, 2),
    ),
    of_scipy(
        lambda s, a, b: s.solve_triangular(a, b, unit_diagonal=True),
        "solve_triangular", normal(3, 3), normal(3, 2),
    ),
    of_scipy(
        lambda s, a, b: s.cho_solve((s.solve_triangular(a, np.eye(3, dtype=b.dtype)), False), b),
        "cho_solve", regular(3, 3), normal(3),
    ),
    of_scipy(lambda s, a: s.lu_factor(a)[0], "lu_factor", normal(3, 3)),
    of_scipy(lambda s, a, b: solved_by_factors(s, a, b, 0), "lu_solve", normal(3, 3), normal(3)),
    of_scipy(lambda s, a, b: solved_by_factors(s, a, b, 1), "lu_solve", regular(13, 13), normal(13, 2)),
    of_scipy(lambda s, a: s.expm(a), "expm", normal(3, 3), tolerance=1e-11),
    of_scipy(lambda s, a: s.expm(a * 4), "expm", normal(2, 2, 2), tolerance=1e-9, dtypes=("float64",)),
    of_scipy(lambda s, a: real(s.sqrtm(a)), "sqrtm", regular(3, 3)),
    of_scipy(
        lambda s, a, b, q: s.solve_sylvester(a, b, q),
        "solve_sylvester", regular(3, 3), regular(2, 2), normal(3, 2),
    ),
    of_scipy(
        lambda s, a, q: s.solve_continuous_lyapunov(a, q),
        "solve_continuous_lyapunov", regular(3, 3), normal(3, 3),
    ),
    of_scipy(
        lambda s, a, q: s.solve_discrete_lyapunov(a / 9, q),
        "solve_discrete_lyapunov", normal(3, 3), normal(3, 3), dtypes=("float64",),
    ),
    of_scipy(
        lambda s, a, q: s.solve_discrete_lyapunov(a / 9, q, "bilinear"),
        "solve_discrete_lyapunov", normal(3, 3), normal(3, 3), dtypes=("float64",),
    ),
    of_scipy(lambda s, a, b: s.block_diag(a, b, a[:1]), "block_diag", normal(2, 3), normal(4)),
    of_scipy(lambda s, c, r: s.toeplitz(c, r), "toeplitz", normal(3), normal(4)),
    of_scipy(lambda s, c: s.toeplitz(c), "toeplitz", normal(3)),
    of_scipy(lambda s, c: s.circulant(c), "circulant", normal(3)),
    of_scipy(lambda s, c: s.hankel(c), "hankel", normal(3)),
    of_scipy(lambda s, c, r: s.hankel(c, r), "hankel", normal(3), normal(4)),
    of_scipy(
        lambda s, c, r, b: s.solve_toeplitz((c, r), b),
        "solve_toeplitz", first_large(4), normal(4), normal(4, 2), dtypes=("float64",),
    ),
    of_scipy(
        lambda s, c, b: s.solve_toeplitz(c, b), "solve_toeplitz", first_large(4), normal(4), dtypes=("float64",)
    ),
    of_scipy(
        lambda s, ab, b: s.solve_banded((2, 1), ab, b), "solve_banded", bands(4, 5, main=1), normal(5)
    ),
    of_scipy(
        lambda s, ab, b: s.solve_banded((1, 1), ab, b), "solve_banded", bands(3, 5, main=1), normal(5, 2)
    ),
    of_scipy(lambda s, ab, b: s.solveh_banded(ab, b), "solveh_banded", bands(3, 5, main=2), normal(5)),
    of_scipy(
        lambda s, ab, b: s.solveh_banded(ab, b, lower=True), "solveh_banded", bands(2, 5, main=0), normal(5, 2)
    ),
    of_scipy(lambda s, ab: upper(s, s.cholesky_banded(ab)), "cholesky_banded", bands(3, 5, main=2)),
    of_scipy(
        lambda s, ab: upper(s, s.cholesky_banded(ab, lower=True)[::-1, ::-1]),
        "cholesky_banded", bands(2, 4, main=0),
    ),
    of_scipy(
        lambda s, cb, b: s.cho_solve_banded((cb, False), b), "cho_solve_banded", bands(3, 5, main=2), normal(5)
    ),
    of_scipy(
        lambda s, cb, b: s.cho_solve_banded((cb, True), b), "cho_solve_banded", bands(2, 4, main=0), normal(4, 2)
    ),
    *(
        of_scipy(
            lambda s, a, b, kind=kind, lower=lower: s.solve(a @ a.T, b, assume_a=kind, lower=lower),
            "solve", regular(3, 3), normal(3),
        )
        for kind in (
            "gen", "sym", "her", "pos", "diagonal", "tridiagonal", "banded", "upper triangular", "lower triangular"
        )
        for lower in (False, True)
    ),
    of_scipy(
        lambda s, a, b: s.solve(a.T, b) if s is scipy.linalg else s.solve(a, b, transposed=True),
        "solve", regular(3, 3), normal(3),
    ),
    of_scipy(lambda s, a: s.lu(a)[1:], "lu", normal(3, 3)),
    of_scipy(lambda s, a: s.lu(a, permute_l=True), "lu", normal(2, 3, 3)),
    of_scipy(lambda s, a: s.logm(s.expm(a)), "logm", normal(3, 3), tolerance=1e-11, **ROOTS),
    of_scipy(lambda s, a: s.logm(a @ a.T), "logm", regular(3, 3), tolerance=1e-9, **ROOTS),  # by SciPy
    *(
        of_scipy(lambda s, a, name=name: getattr(s, name)(a / 3), name, normal(3, 3), tolerance=1e-11)
        for name in ("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm")
    ),
    *(
        distances(name, *(maker(n, 3) for n in counts), metric=metric, **arguments)
        for name, counts in (("cdist", (4, 5)), ("pdist", (5,)))
        for metric, arguments in METRICS
        for maker in (uniform if metric == "braycurtis" else normal,)  # abs(u + v) has a kink
    ),
]  # fmt: skip

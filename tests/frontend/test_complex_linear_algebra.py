"""Linear algebra of complex matrices: values against NumPy and SciPy, derivatives against differences.

Derivatives are compared in the real inner product ``Re sum(conj(u) v)``, along directions in the complex plane.
Functions of eigenvectors and singular vectors do not depend on their phases.
"""

import numpy as np
import pytest
import scipy.linalg

import tapegrad as tg

L = tg.linalg
STEP = 1e-6


def numbers(*shape, seed=0, dtype=np.complex128):
    rng = np.random.default_rng([seed, *shape])
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def positive(n):
    a = numbers(n, n)
    return a @ a.conj().T + np.eye(n)


def sizes(v):
    return v.real**2 + v.imag**2


def projector(v):
    return v @ tg.swapaxes(v, -1, -2).conj()


def product_of_factors(a):
    u, _, vh = L.svd(a, full_matrices=False)
    return u @ vh


def outside(a):
    return projector(L.svd(a)[0][:, 3:])


def solve_by_parts(a, b, q):
    return scipy.linalg.solve_sylvester(a, b, q.real) + 1j * scipy.linalg.solve_sylvester(a, b, q.imag)


SQUARE, TALL, WIDE, STACK = numbers(5, 5), numbers(5, 3), numbers(3, 5), numbers(2, 3, 3)
LARGE = numbers(12, 12), numbers(12, 11)
TURNING = np.array([[1.0, 3.0, 0.0], [-2.0, 1.5, 0.4], [0.3, 0.0, 2.0]])

# Function, NumPy's function of the same arguments or None, arguments
CASES = {
    "matmul": (tg.matmul, np.matmul, TALL, WIDE),
    "matmul, large": (tg.matmul, np.matmul, *LARGE),
    "matmul, views": (lambda a, b: a.T @ b.T, lambda a, b: a.T @ b.T, LARGE[1], LARGE[0]),
    "matmul, vectors": (tg.matmul, np.matmul, SQUARE[0], SQUARE[1]),
    "matmul, stacks": (tg.matmul, np.matmul, numbers(2, 1, 3, 4), numbers(3, 4, 2)),
    "matmul, real factor": (tg.matmul, np.matmul, TALL.real, WIDE),
    "matmul, real factor and vector": (tg.matmul, np.matmul, WIDE.real, SQUARE[0]),
    "matmul, by a real one": (tg.matmul, np.matmul, TALL, WIDE.real),
    "vdot": (tg.vdot, np.vdot, TALL, TALL[::-1]),
    "inner": (tg.inner, np.inner, TALL, SQUARE[:, :3]),
    "outer": (tg.outer, np.outer, SQUARE[0], SQUARE[1]),
    "einsum": (
        lambda a, b: tg.einsum("ij,kj->ki", a, b), lambda a, b: np.einsum("ij,kj->ki", a, b), TALL, TALL[:2]
    ),
    "tensordot": (tg.tensordot, np.tensordot, numbers(2, 3, 4), numbers(3, 4, 2)),
    "kron": (tg.kron, np.kron, SQUARE[:2, :2], TALL),
    "vecdot": (tg.vecdot, np.vecdot, TALL, TALL[::-1]),
    "solve": (L.solve, np.linalg.solve, SQUARE, TALL),
    "solve, transposed": (lambda a, b: L.solve(a.T, b), lambda a, b: np.linalg.solve(a.T, b), SQUARE, TALL),
    "solve, real matrix": (L.solve, np.linalg.solve, SQUARE.real, SQUARE[0]),
    "solve, shared matrix": (L.solve, np.linalg.solve, STACK[0], numbers(2, 3, 2)),
    "lu, both factors": (
        lambda a: tg.stack(L.lu(a)[1:]), lambda a: np.stack(scipy.linalg.lu(a)[1:]), STACK
    ),
    "lu, permuted": (
        lambda a: L.lu(a, permute_l=True)[0], lambda a: scipy.linalg.lu(a, permute_l=True)[0], LARGE[0]
    ),
    "lu_factor, large": (lambda a: L.lu_factor(a)[0], lambda a: scipy.linalg.lu_factor(a)[0], numbers(13, 13)),
    "lu_solve, adjoint": (
        lambda a, b: L.lu_solve(L.lu_factor(a), b, 2),
        lambda a, b: scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b, 2), SQUARE, TALL,
    ),
    "inv": (L.inv, np.linalg.inv, STACK),
    "det": (L.det, np.linalg.det, STACK),
    "det, singular": (L.det, np.linalg.det, SQUARE - np.outer(SQUARE[:, 0], np.eye(5)[0])),
    "slogdet, phase": (lambda a: L.slogdet(a)[0], lambda a: np.linalg.slogdet(a)[0], STACK),
    "slogdet, logarithm": (lambda a: L.slogdet(a)[1], lambda a: np.linalg.slogdet(a)[1], STACK),
    "cholesky": (L.cholesky, np.linalg.cholesky, positive(4)),
    "cholesky, upper": (
        lambda a: L.cholesky(a, upper=True), lambda a: scipy.linalg.cholesky(a), positive(4)
    ),
    "solve_triangular": (
        lambda a, b: L.solve_triangular(a, b, "C", lower=True),
        lambda a, b: scipy.linalg.solve_triangular(a, b, "C", lower=True),
        SQUARE + 4 * np.eye(5),
        TALL,
    ),
    "solve_banded": (
        lambda a, b: L.solve_banded((2, 1), a, b),
        lambda a, b: scipy.linalg.solve_banded((2, 1), a, b),
        SQUARE[:4] + 4 * np.eye(4)[:, 1:2],
        TALL,
    ),
    "eigvalsh": (L.eigvalsh, np.linalg.eigvalsh, SQUARE),
    "eigvalsh, upper": (
        lambda a: L.eigvalsh(a, UPLO="U"), lambda a: np.linalg.eigvalsh(a, UPLO="U"), SQUARE
    ),
    "eigh, sizes": (lambda a: sizes(L.eigh(a)[1]), lambda a: abs(np.linalg.eigh(a)[1]) ** 2, SQUARE),
    "eigh, projector": (lambda a: projector(L.eigh(a)[1][:, :2]), None, SQUARE),
    "eigvals": (L.eigvals, np.linalg.eigvals, STACK),
    "eig, sizes": (lambda a: sizes(L.eig(a)[1]), lambda a: abs(np.linalg.eig(a)[1]) ** 2, SQUARE),
    "eigvals, real matrix": (L.eigvals, np.linalg.eigvals, TURNING),
    "eig, real matrix": (lambda a: sizes(L.eig(a)[1]), lambda a: abs(np.linalg.eig(a)[1]) ** 2, TURNING),
    "roots": (tg.roots, np.roots, np.array([1.0, 2.0, 3.0, -1.0])),
    "roots, complex": (tg.roots, np.roots, SQUARE[0]),
    "polyfit": (
        lambda x, y: tg.polyfit(x, y, 2), lambda x, y: np.polyfit(x, y, 2), np.arange(5.0), SQUARE[:, :2]
    ),
    "polyfit, complex points": (
        lambda x, y, w: tg.polyfit(x, y, 2, w=w), lambda x, y, w: np.polyfit(x, y, 2, w=w), SQUARE[0], SQUARE[1],
        np.arange(1.0, 6.0),
    ),
    "svdvals": (L.svdvals, lambda a: np.linalg.svd(a)[1], WIDE),
    "svd, both factors": (product_of_factors, lambda a: scipy.linalg.polar(a)[0], TALL),
    "svd, sizes": (lambda a: sizes(L.svd(a, False)[2]), None, WIDE),
    "svd, outside": (outside, None, TALL),
    "qr, q": (lambda a: L.qr(a)[0], lambda a: np.linalg.qr(a)[0], TALL),
    "qr, r": (lambda a: L.qr(a)[1], lambda a: np.linalg.qr(a)[1], WIDE),
    "pinv": (L.pinv, np.linalg.pinv, TALL),
    "pinv, of rank 1": (lambda a: L.pinv(a[:, :1] @ a[:1]), lambda a: np.linalg.pinv(a[:, :1] @ a[:1]), TALL),
    "lstsq": (
        lambda a, b: L.lstsq(a, b)[0], lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0], TALL, SQUARE[0]
    ),
    "expm": (L.expm, scipy.linalg.expm, STACK),
    "sqrtm": (L.sqrtm, scipy.linalg.sqrtm, STACK),
    "sqrtm, large": (L.sqrtm, scipy.linalg.sqrtm, LARGE[0] + 4 * np.eye(12)),
    "sqrtm, defective": (L.sqrtm, scipy.linalg.sqrtm, np.eye(3, k=1) + (1 - 2j) * np.eye(3)),
    "logm": (L.logm, scipy.linalg.logm, STACK),
    "logm, defective": (L.logm, scipy.linalg.logm, np.eye(3, k=1) + (1 - 2j) * np.eye(3)),
    "solve_sylvester": (L.solve_sylvester, scipy.linalg.solve_sylvester, STACK[0], SQUARE[:2, :2], TALL[:3, :2]),
    "solve_sylvester, large": (
        L.solve_sylvester, scipy.linalg.solve_sylvester, numbers(34, 34), numbers(33, 33), numbers(34, 33)
    ),
    "solve_sylvester, real matrices": (  # SciPy's, by real Schur factors, is another one than the equation's
        L.solve_sylvester, solve_by_parts, STACK[0].real, SQUARE[:2, :2].real, TALL[:3, :2]
    ),
    "solve_continuous_lyapunov": (
        L.solve_continuous_lyapunov, scipy.linalg.solve_continuous_lyapunov, STACK[0], STACK[1]
    ),
    "solve_discrete_lyapunov, bilinear": (
        lambda a, q: L.solve_discrete_lyapunov(a / 4, q, "bilinear"),
        lambda a, q: scipy.linalg.solve_discrete_lyapunov(a / 4, q), STACK[0], STACK[1],
    ),
    "solve_discrete_lyapunov": (
        lambda a, q: L.solve_discrete_lyapunov(a / 4, q),
        lambda a, q: scipy.linalg.solve_discrete_lyapunov(a / 4, q), STACK[0], STACK[1],
    ),
    "norm": (L.norm, np.linalg.norm, TALL),
    "norm, nuclear": (lambda a: L.norm(a, "nuc"), lambda a: np.linalg.norm(a, "nuc"), TALL),
    "norm, cubes": (lambda a: L.norm(a, 3), lambda a: np.linalg.norm(a, 3), SQUARE[0]),
    "matrix_power": (lambda a: L.matrix_power(a, -3), lambda a: np.linalg.matrix_power(a, -3), SQUARE),
}  # fmt: skip
EVERY = pytest.mark.parametrize("name", CASES)


def inner(u, v):
    return np.vdot(u, v).real


def directions(arguments):
    return [
        numbers(*each.shape, seed=7) if np.iscomplexobj(each) else numbers(*each.shape, seed=8).real
        for each in arguments
    ]


def moved(arguments, dots, step):
    return [each + step * dot for each, dot in zip(arguments, dots, strict=True)]


def value(function, arguments):
    return np.asarray(function(*map(tg.tensor, arguments)).data)


@EVERY
def test_values_and_first_derivatives(name):
    function, reference, *arguments = CASES[name]
    dots = directions(arguments)
    y, pull = tg.vjp(function, *arguments)
    if reference is not None:
        expected = np.asarray(reference(*arguments))
        np.testing.assert_allclose(y, expected, rtol=1e-9, atol=1e-11)
        assert y.dtype == expected.dtype
    y_bar = numbers(*y.shape, seed=9) if np.iscomplexobj(y) else numbers(*y.shape, seed=9).real
    bars = pull(y_bar)
    change = value(function, moved(arguments, dots, STEP)) - value(function, moved(arguments, dots, -STEP))
    y_dot = tg.jvp(function, tuple(arguments), tuple(dots))[1]
    np.testing.assert_allclose(y_dot, change / (2 * STEP), rtol=1e-5, atol=1e-6)
    bars = bars if isinstance(bars, tuple | list) else [bars]
    assert [bar.dtype for bar in bars] == [each.dtype for each in arguments]
    along = sum(inner(bar, dot) for bar, dot in zip(bars, dots, strict=True))
    np.testing.assert_allclose(along, inner(y_bar, y_dot), rtol=1e-9, atol=1e-10)


SECOND = [name for name in CASES if not name.startswith("matmul,")]


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives(name):
    function, _, *arguments = CASES[name]
    dots = directions(arguments)
    shape = value(function, arguments).shape
    weights = np.random.default_rng(5).uniform(0.5, 1.5, shape)

    def loss(*args):
        y = function(*args)
        return tg.sum(weights * (sizes(y) if np.dtype(y.dtype).kind == "c" else y**3))

    slopes = tg.grad(loss, argnums=tuple(range(len(arguments))))
    above, below = (slopes(*moved(arguments, dots, step)) for step in (STEP, -STEP))
    changes = [(a - b) / (2 * STEP) for a, b in zip(above, below, strict=True)]
    found = tg.jvp(slopes, tuple(arguments), tuple(dots))[1]
    for own, expected in zip(found, changes, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-5, atol=1e-5 * max(1.0, abs(expected).max()))


@pytest.mark.parametrize(
    "name",
    [
        "matmul, large",
        "solve",
        "lu, both factors",
        "sqrtm",
        "logm",
        "inv",
        "det",
        "cholesky",
        "eigvalsh",
        "svdvals",
        "expm",
    ],
)
def test_recordings_repeat_what_was_computed(name):
    function, _, *arguments = CASES[name]
    dots = directions(arguments)

    def loss(*args):
        y = function(*args)
        return tg.sum(sizes(y) if np.dtype(y.dtype).kind == "c" else y**2)

    slope = tg.grad(loss)
    recorded = tg.jit(slope)
    recorded(*moved(arguments, dots, 0.1))
    np.testing.assert_allclose(recorded(*arguments), slope(*arguments), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("function", [L.inv, L.det, L.eigvalsh], ids=["inv", "det", "eigvalsh"])
def test_single_precision(function):
    a = numbers(4, 4, dtype=np.complex64)
    x = tg.tensor(a)
    y = function(x)
    assert y.dtype in (np.complex64, np.float32)
    np.testing.assert_allclose(y.data, value(function, [a.astype(np.complex128)]), rtol=1e-3)
    tg.sum(y.real).backward()
    assert x.grad.dtype == np.complex64


def test_a_system_against_its_real_blocks():
    a, b = SQUARE, SQUARE[0]

    def blocks(pair):
        real, imag = pair[0], pair[1]
        whole = tg.concatenate([tg.concatenate([real, -imag], 1), tg.concatenate([imag, real], 1)])
        return tg.sum(L.solve(whole, np.concatenate([b.real, b.imag])) ** 2)

    pair = tg.grad(blocks)(np.stack([a.real, a.imag]))
    found = tg.grad(lambda x: tg.sum(sizes(L.solve(x, b))))(a)
    np.testing.assert_allclose(found, pair[0] + 1j * pair[1], rtol=1e-9)


PHASES = {
    "eigh": lambda a: L.eigh(a)[1],
    "eig": lambda a: L.eig(a)[1],
    "svd": lambda a: L.svd(a, False)[0],
}


@pytest.mark.parametrize("name", PHASES)
def test_functions_of_phases_raise(name):
    x = tg.tensor(SQUARE)
    loss = tg.sum(numbers(5, 5, seed=4).real * PHASES[name](x).imag)
    with pytest.raises(np.linalg.LinAlgError, match="phases"):
        loss.backward()


@pytest.mark.parametrize("matrix", [np.eye(3), np.diag([1.0, 1.0, 2.0])], ids=["one", "two"])
def test_equal_eigenvalues_share_their_cotangent(matrix):
    slope = tg.grad(lambda a: tg.sum(L.eigvalsh(a) ** 3) + tg.sum(L.svdvals(a) ** 2))(matrix + 0j)
    np.testing.assert_allclose(slope, 3 * matrix**2 + 2 * matrix, atol=1e-12)


@pytest.mark.parametrize(
    "function", [L.inv, lambda a: L.solve(a, np.ones(3)), L.cholesky, lambda a: L.sqrtm(a @ a * 0), L.logm]
)
def test_singular_matrices_raise(function):
    with pytest.raises(np.linalg.LinAlgError):
        function(tg.tensor(np.diag([1.0, 0.0, 2.0]) * (1 + 0j)))


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0)])
def test_empty_matrices(shape):
    empty = np.zeros(shape, complex)
    assert L.inv(tg.tensor(empty)).shape == L.cholesky(tg.tensor(empty)).shape == shape
    np.testing.assert_array_equal(L.det(tg.tensor(empty)).data, np.linalg.det(empty))
    for function in (L.eigvalsh, L.eigvals, L.svdvals):
        x = tg.tensor(empty)
        tg.sum(function(x).real).backward()
        assert x.grad.shape == shape


def test_a_replay_with_complex_eigenvalues_of_a_real_matrix_raises():
    recorded = tg.jit(lambda a: tg.sum(L.eigvals(a) ** 2))
    np.testing.assert_allclose(recorded(np.diag([1.0, 2.0, 3.0])), 14.0)
    with pytest.raises(np.linalg.LinAlgError, match=r"astype\(complex\)"):
        recorded(TURNING)


# A real matrix with real eigenvalues, in no block form
REAL = np.array([[1.0, 2.0, 0.0], [0.5, 3.0, 0.0], [0.0, 0.3, -2.0]])


@pytest.mark.parametrize("matrix", [REAL, TURNING])
def test_characteristic_polynomials_of_real_matrices_are_real(matrix):
    np.testing.assert_allclose(tg.jit(tg.poly)(matrix), np.poly(matrix), rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(tg.poly(tg.tensor(matrix)).data, tg.jit(tg.poly)(matrix))
    trace = tg.grad(tg.jit(lambda a: tg.poly(a)[1]))(matrix)
    np.testing.assert_allclose(trace, -np.eye(3), atol=1e-13)


def test_permutations_of_complex_factors_are_real():
    p, expected = L.lu(tg.tensor(STACK))[0].data, scipy.linalg.lu(STACK)[0]
    np.testing.assert_array_equal(p, expected)
    assert p.dtype == expected.dtype


NEGATIVE = {
    "one": np.diag([-1.0, 4.0]) + 0j,
    "a negative zero": np.array([[complex(-1, -0.0), 2.0], [0.0, 4.0]]),
    "repeated": np.array([[-2.0, 4.0, 9.0], [0.0, -2.0, 3.0], [0.0, 0.0, 5.0]]) + 0j,
    "all": -np.eye(3) + 0j,
}


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_negative_eigenvalues_are_on_the_principal_branch(name):
    for matrix in NEGATIVE.values():
        expected = getattr(scipy.linalg, name)(matrix)
        np.testing.assert_allclose(getattr(L, name)(tg.tensor(matrix)).data, expected, rtol=1e-13, atol=1e-14)


def test_real_matrices_with_a_complex_root_name_the_conversion():
    matrix = np.diag([-1.0, 4.0])
    with pytest.raises(np.linalg.LinAlgError, match=r"astype\(complex\)"):
        L.sqrtm(tg.tensor(matrix))
    np.testing.assert_array_equal(L.sqrtm(tg.tensor(matrix).astype(complex)).data, np.diag([1j, 2.0]))


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_derivatives_are_blocks_of_functions_of_larger_matrices(name):
    own, reference = getattr(L, name), getattr(scipy.linalg, name)
    a, dot = SQUARE + 2 * np.eye(5), numbers(5, 5, seed=3)
    block = reference(np.block([[a, dot], [np.zeros((5, 5)), a]]))[:5, 5:]
    np.testing.assert_allclose(tg.jvp(own, (a,), (dot,))[1], block, rtol=1e-11)
    y_bar = numbers(5, 5, seed=9)
    np.testing.assert_allclose(inner(tg.vjp(own, a)[1](y_bar), dot), inner(y_bar, block), rtol=1e-11)


OF_STACKS = {
    "lu_factor": lambda a: L.lu_factor(a)[0],
    "sqrtm": L.sqrtm,
    "logm": L.logm,
    "solve_sylvester": lambda a: L.solve_sylvester(a, a @ a, np.eye(3)),
}


@pytest.mark.parametrize("name", OF_STACKS)
def test_batches_are_computed_matrix_by_matrix(name):
    slope = tg.grad(lambda a: tg.sum(sizes(OF_STACKS[name](a))))
    batch = numbers(3, 3, 3) + 2 * np.eye(3)
    expected = np.stack([slope(each) for each in batch])
    np.testing.assert_allclose(tg.jit(tg.vmap(slope))(batch), expected, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("name", OF_STACKS)
def test_matrices_that_fail_are_nan_alone(name):
    def loss(a):
        return tg.sum(sizes(OF_STACKS[name](a))[0])

    stack = np.stack([SQUARE[:3, :3], np.zeros((3, 3))])
    with L.errstate("nan"):
        value, slope = tg.value_and_grad(loss)(stack)
    assert np.isfinite(value)
    np.testing.assert_array_equal(slope[1], 0)
    np.testing.assert_allclose(slope[0], tg.grad(loss)(stack[:1])[0], rtol=1e-11)

"""`tg.linalg.errstate`: failures of linear algebra as nan, for the matrices that fail alone."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.engine.inspection import verify

nan, raising = tg.linalg.errstate("nan"), tg.linalg.errstate("raise")
N = 3
GOOD = np.array([[4.0, 0.5, 0.2], [0.5, 3.0, 0.3], [0.2, 0.3, 2.0]])
NEGATIVE, SINGULAR = np.diag([1.0, -1.0, 2.0]), np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 1.0]])
ROTATION = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
side = np.ones(N)


def weighted(x: Any) -> Any:
    """Sum of elements with different weights, so that derivatives by all of them count."""
    return tg.sum(x * np.arange(1.0, 1 + x.shape[-1]))


# For each failure of a value: a function from one matrix to a number, and a matrix for which it fails
VALUES: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "cholesky": (lambda a: weighted(tg.linalg.cholesky(a)), NEGATIVE),
    "inv": (lambda a: weighted(tg.linalg.inv(a)), SINGULAR),
    "solve": (lambda a: weighted(tg.linalg.solve(a, side)), SINGULAR),
    "lu_solve": (lambda a: weighted(tg.linalg.lu_solve(tg.linalg.lu_factor(a), side)), SINGULAR),
    "solve_triangular": (lambda a: weighted(tg.linalg.solve_triangular(a, side)), np.diag([1.0, 0.0, 1.0])),
    "solve_banded": (
        lambda a: weighted(tg.linalg.solve_banded((1, 1), a, side)),
        np.eye(3)[[0]] * np.ones((3, 1)),
    ),
    "eig of nan": (lambda a: weighted(tg.linalg.eig(a)[0]), np.full((N, N), np.nan)),
    "sqrtm": (lambda a: weighted(tg.linalg.sqrtm(a)), NEGATIVE),
    "logm": (lambda a: weighted(tg.linalg.logm(a)), np.zeros((N, N))),
    "solve_sylvester": (lambda a: weighted(tg.linalg.solve_sylvester(a, -a, np.eye(N))), GOOD),
}
# The same for failures of derivatives alone
DERIVATIVES: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "eigh": (lambda a: weighted(tg.linalg.eigh(a)[1]), np.eye(N)),
    "svd": (lambda a: weighted(tg.linalg.svd(a)[0]), np.eye(N)),
    "svd of a tall matrix": (lambda a: weighted(tg.linalg.svd(a[:, :2])[0]), np.diag([1.0, 0.0, 0.0])),
    "eigenvectors": (lambda a: weighted(tg.linalg.eig(a)[1]), np.eye(N)),
    "eigenvalues of no basis": (lambda a: weighted(tg.linalg.eig(a)[0]), np.eye(N) + np.eye(N, k=1)),
    "qr": (lambda a: weighted(tg.linalg.qr(a)[1]), np.diag([1.0, 0.0, 1.0])),
    "slogdet": (lambda a: tg.linalg.slogdet(a)[1], SINGULAR),
    "lu": (lambda a: weighted(tg.linalg.lu_factor(a)[0]), SINGULAR),
}
BOTH = VALUES | DERIVATIVES


def has_nan(values: Any) -> bool:
    return bool(np.isnan(np.asarray(values)).any())


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("recorded", [False, True])
def test_values_and_gradients(name: str, recorded: bool) -> None:
    function, bad = BOTH[name]
    same = tg.jit(function) if recorded else function
    with pytest.raises(np.linalg.LinAlgError):
        tg.grad(same)(bad)
    decorated = nan(function)
    value, gradient = tg.value_and_grad(tg.jit(decorated) if recorded else decorated)(bad)
    assert has_nan(value) == (name in VALUES)
    assert has_nan(gradient)
    with pytest.raises(np.linalg.LinAlgError):
        tg.grad(same)(bad)


@pytest.mark.parametrize("name", BOTH)
def test_tangents(name: str) -> None:
    function, bad = BOTH[name]
    with pytest.raises(np.linalg.LinAlgError):
        tg.jvp(tg.jit(function), (bad,), (GOOD + ROTATION,))
    value, tangent = tg.jvp(tg.jit(nan(function)), (bad,), (GOOD + ROTATION,))
    assert has_nan(value) == (name in VALUES)
    assert has_nan(tangent)


@pytest.mark.parametrize("name", BOTH)
def test_higher_derivatives(name: str) -> None:
    """Rules on Tensors have the choice of the instruction, wherever they are called."""
    function, bad = BOTH[name]
    x = tg.tensor(bad)
    with nan:
        y = function(x)
    y.backward(create_graph=True)
    assert x.grad is not None
    assert has_nan(x.grad.data)
    with pytest.raises(np.linalg.LinAlgError):
        function(tg.tensor(bad)).backward(create_graph=True)
    product = tg.hvp(tg.jit(nan(function)))(bad, GOOD + ROTATION)
    assert has_nan(product)


def batched(name: str) -> Callable[[Any], Any]:
    """The functions of one matrix, of a stack of them: a number for each matrix."""
    own = {
        "cholesky": lambda a: tg.linalg.cholesky(a),
        "inv": lambda a: tg.linalg.inv(a),
        "solve": lambda a: tg.linalg.solve(a, np.ones((a.shape[-1], 2))),
        "solve_triangular": lambda a: tg.linalg.solve_triangular(a, np.ones((*a.shape[:-1], 1))),
        "eigh": lambda a: tg.linalg.eigh(a)[1],
        "svd": lambda a: tg.linalg.svd(a)[0],
        "sqrtm": lambda a: tg.linalg.sqrtm(a),
        "slogdet": lambda a: tg.linalg.slogdet(a)[1],
        "logm": lambda a: tg.linalg.logm(a),
        "qr": lambda a: tg.linalg.qr(a)[1],
    }[name]

    def function(a: Any) -> Any:
        y = own(a)
        return y if y.ndim == 1 else tg.sum(y * np.arange(1.0, 1 + y.shape[-1]), axis=(-1, -2))

    return function


def stack(name: str, count: int, n: int, dtype: Any) -> np.ndarray:
    rng = np.random.default_rng(5)
    a = rng.normal(size=(count, n, n)) / n + 3 * np.eye(n)
    a = (a + a.swapaxes(-1, -2)) / 2
    bad = (
        -np.eye(n)
        if name in ("cholesky", "sqrtm")
        else np.eye(n)
        if name in ("eigh", "svd")
        else np.zeros((n, n))
    )
    a[1::5] = bad
    return a.astype(dtype)


@pytest.mark.parametrize(
    "name",
    ["cholesky", "inv", "solve", "solve_triangular", "eigh", "svd", "sqrtm", "slogdet", "logm", "qr"],
)
@pytest.mark.parametrize(("count", "n"), [(13, 3), (7, 16)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_of_a_stack_only_those_that_fail(
    name: str, count: int, n: int, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others have the same values and gradients as without them: in a stack, and over lanes."""
    if name in ("eigh", "svd"):
        # Vectors of a stack and of one matrix may have other signs, on which `function` depends.
        monkeypatch.setattr(verify.switch, "derivatives", False)
    function, a = batched(name), stack(name, count, n, dtype)
    good = np.arange(count) % 5 != 1
    fails = name not in ("eigh", "svd", "slogdet", "qr")
    for one in (nan(function), tg.vmap(nan(lambda x: function(x[None])[0]))):
        value, pullback = tg.vjp(one, a)
        (gradient,) = pullback(np.ones(count, dtype))
        expected, of_good = tg.vjp(function, a[good])
        np.testing.assert_allclose(value[good], expected, rtol=1e-5 if dtype == np.float32 else 1e-12)
        scale = 1e-4 if dtype == np.float32 else 1e-11
        np.testing.assert_allclose(
            gradient[good], of_good(np.ones(good.sum(), dtype))[0], rtol=scale, atol=scale
        )
        assert np.isnan(value[~good]).all() == fails
        assert np.isnan(gradient[~good]).any(axis=(-1, -2)).all()


def test_a_matrix_that_all_systems_share() -> None:
    right = np.random.default_rng(2).normal(size=(5, N, 2))
    for solve in (tg.linalg.solve, tg.linalg.solve_triangular):
        f = nan(lambda a, b, solve=solve: tg.sum(solve(a, b)))
        value, (of_a, of_b) = tg.value_and_grad(tg.jit(f), argnums=(0, 1))(np.diag([1.0, 0.0, 1.0]), right)
        assert np.isnan([value, *of_a.diagonal(), *of_b.ravel()]).all()
        value, tangent = tg.jvp(tg.jit(lambda b, f=f: f(np.diag([1.0, 0.0, 1.0]), b)), (right,), (right,))
        assert np.isnan([value, tangent]).all()


def test_a_result_without_a_cotangent_contributes_nothing() -> None:
    """So a mask is a way out: where it does not select, there is no nan."""

    def log_density(a: Any, x: Any) -> Any:
        factor = tg.linalg.cholesky(a)
        z = tg.linalg.solve_triangular(factor, x, lower=True)
        found = -0.5 * tg.sum(z**2) - tg.sum(tg.log(tg.diag(factor)))
        return tg.where(tg.isnan(found), -1e6 - tg.sum(x**2), found)

    both = tg.value_and_grad(tg.jit(nan(log_density)), argnums=(0, 1))
    value, (of_a, of_x) = both(NEGATIVE, side)
    assert value == -1e6 - N
    np.testing.assert_array_equal(of_a, np.zeros((N, N)))
    np.testing.assert_array_equal(of_x, -2 * side)
    tg.check_grads(log_density, (GOOD, side))


def test_factors_of_a_singular_matrix_without_a_cotangent_contribute_nothing() -> None:
    with nan:
        slope = tg.grad(lambda a: tg.sum(tg.linalg.lu_factor(a)[0][0] ** 2))(np.stack([GOOD, SINGULAR]))
    assert np.isfinite(slope[0]).all()
    np.testing.assert_array_equal(slope[1], 0)


def test_recorded_functions_are_kept_for_both_choices() -> None:
    function = VALUES["cholesky"][0]
    recorded = tg.jit(function)
    calls = [
        recorded,
        tg.grad(recorded),
        tg.value_and_grad(recorded),
        tg.vmap(recorded),
        tg.jacobian(recorded),
    ]
    calls += [lambda a: tg.jvp(recorded, (a,), (a,)), lambda a: tg.hvp(recorded)(a, a)]
    for call in calls:
        good, bad = (np.array([a, a]) if isinstance(call, type(calls[3])) else a for a in (GOOD, NEGATIVE))
        for _ in range(3):
            expected = call(good)
            with pytest.raises(np.linalg.LinAlgError):
                call(bad)
            with nan:
                for _ in range(3):
                    assert any(map(has_nan, tg_flat(call(bad))))
                    for one, other in zip(tg_flat(call(good)), tg_flat(expected), strict=True):
                        np.testing.assert_array_equal(one, other)
                with raising, pytest.raises(np.linalg.LinAlgError):
                    call(bad)


def tg_flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def test_a_decorated_function_is_recorded_once() -> None:
    count = []

    def within(a: Any) -> Any:
        count.append(1)
        with tg.linalg.errstate("nan"):
            return tg.sum(tg.linalg.inv(a))

    for f in (tg.jit(within), tg.jit(nan(within))):
        count.clear()
        for _ in range(4):
            assert has_nan(f(SINGULAR))
            assert np.isfinite(f(GOOD))
        assert len(count) == 1


def test_compiled_functions_and_their_files(tmp_path: Any) -> None:
    function = VALUES["inv"][0]
    compiled = [tg.compile(tg.value_and_grad(nan(function)), GOOD)]
    with nan:
        compiled.append(tg.compile(tg.value_and_grad(function), GOOD))
    compiled[0].save(tmp_path / "inv.tape")
    with nan:
        compiled.append(tg.load(tmp_path / "inv.tape"))
    compiled.append(pickle.loads(pickle.dumps(compiled[1])))
    strict = tg.compile(tg.value_and_grad(function), GOOD)
    for h in compiled:
        assert has_nan(h(SINGULAR)[0])
        with nan:
            np.testing.assert_array_equal(h(GOOD)[1], strict(GOOD)[1])
    with nan, pytest.raises(np.linalg.LinAlgError):
        strict(SINGULAR)


def test_fits_take_nan_for_a_failure() -> None:
    def loss(p: Any) -> Any:
        a = tg.stack([tg.stack([p[0], p[1]]), tg.stack([p[1], 1.0 + 0 * p[0]])])
        return tg.sum((tg.linalg.cholesky(a) - np.array([[1.0, 0.0], [0.5, 0.5]])) ** 2)

    with nan:
        found = tg.optimize.minimize(loss, np.array([3.0, 0.2]), method="L-BFGS-B")
    np.testing.assert_allclose(found.x, [1.0, 0.5 * 1], atol=0.3)


def test_checkpoints_keep_the_choice() -> None:
    f = tg.checkpoint(lambda a: weighted(tg.linalg.inv(a)))
    x = tg.tensor(SINGULAR)
    with nan:
        y = f(x)
    y.backward()
    assert has_nan(x.grad)


def test_the_context_itself() -> None:
    with pytest.raises(ValueError, match="errors is 'raise' or 'nan', not 'ignore'"):
        tg.linalg.errstate("ignore")  # type: ignore[arg-type]
    with nan, nan:
        pass
    with pytest.raises(np.linalg.LinAlgError):
        tg.linalg.inv(tg.tensor(SINGULAR))
    assert pickle.loads(pickle.dumps(nan)).errors == "nan"
    with nan, pytest.raises(np.linalg.LinAlgError, match="square"):
        tg.linalg.inv(tg.tensor(np.ones((2, 3))))

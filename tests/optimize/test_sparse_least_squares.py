"""`least_squares(method="native", sparse=True)`: answers of the dense method and of SciPy, and what goes wrong."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import least_squares as scipy_least_squares
from scipy.optimize import lsq_linear

import tapegrad as tg
from tapegrad.examples import nist
from tapegrad.optimize.native.slices import Slices
from tapegrad.optimize.native.sparse.system_plan import SystemPlan
from tapegrad.optimize.searches.interruption import interrupts

SPARSE: dict[str, Any] = {"method": "native", "sparse": True}
TIGHT: dict[str, Any] = {"ftol": 1e-14, "xtol": 1e-12, "gtol": 1e-12}
SOLVERS = [None, "normal", "schur"]


def solved(function: Any, x0: Any, **options: Any) -> Any:
    return tg.optimize.least_squares(function, x0, **SPARSE, **options)


# --- normal equations of many patterns -----------------------------------------------------------------------------


def random_matrix(seed: int) -> sp.csr_array:
    """A matrix of full column rank; among them groups of columns, rows alike, empty rows, and dense ones."""
    draws = np.random.default_rng(seed)
    width, blocks = int(draws.integers(1, 4)), int(draws.integers(1, 12))
    rows = int(draws.integers(0, 40))
    pattern = np.repeat(draws.random((rows, blocks)) < draws.uniform(0.02, 0.5), width, axis=1)
    if seed % 3 == 0:
        pattern = np.repeat(pattern, 2, axis=0)
    if seed % 4 == 0:
        pattern[:1] = True
    if seed % 5 == 0:  # columns in another order, so that those of a group do not stand together
        pattern = pattern[:, draws.permutation(pattern.shape[1])]
    above = np.where(pattern, draws.normal(size=pattern.shape), 0.0)
    matrix = np.vstack([above, np.eye(blocks * width)]) if seed % 7 else above + 0.0
    return sp.csr_array(matrix)


@pytest.mark.parametrize("solver", [None, "normal"])
def test_linear_problems_are_solved_in_a_step(solver: Any) -> None:
    eliminated = 0
    for seed in range(1, 32):
        matrix = random_matrix(seed)
        if not seed % 7:
            continue
        b = np.random.default_rng(seed).normal(size=matrix.shape[0])
        found = solved(lambda x, a=matrix, b=b: a @ x - b, np.ones(matrix.shape[1]), solver=solver, **TIGHT)
        expected = np.linalg.lstsq(matrix.toarray(), b, rcond=None)[0]
        np.testing.assert_allclose(found.x, expected, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(found.jac.toarray(), matrix.toarray(), atol=1e-14)
        eliminated += SystemPlan(matrix.shape, matrix.indptr, matrix.indices, None).eliminated > 0
    assert eliminated > 2


def test_matrices_without_full_rank_have_the_least_cost() -> None:
    for seed in range(7, 71, 7):
        matrix = random_matrix(seed)
        if not matrix.nnz:
            continue
        b = np.random.default_rng(seed).normal(size=matrix.shape[0])
        found = solved(lambda x, a=matrix, b=b: a @ x - b, np.ones(matrix.shape[1]), **TIGHT)
        dense = matrix.toarray()
        rest = dense @ np.linalg.lstsq(dense, b, rcond=None)[0] - b
        assert found.cost == pytest.approx(0.5 * rest @ rest, rel=1e-8, abs=1e-12)


def test_linear_problems_with_bounds_have_scipys_minima() -> None:
    for seed in (1, 2, 3, 4, 5, 9, 10, 12):
        matrix = random_matrix(seed)
        b = 3 * np.random.default_rng(seed).normal(size=matrix.shape[0])
        found = solved(
            lambda x, a=matrix, b=b: a @ x - b, np.full(matrix.shape[1], 0.1), bounds=(-0.2, 0.3), **TIGHT
        )
        expected = lsq_linear(matrix.toarray(), b, (-0.2, 0.3), method="bvls", tol=1e-14)
        np.testing.assert_allclose(found.x, expected.x, atol=1e-7)
        np.testing.assert_array_equal(found.active_mask, (found.x >= 0.3).astype(int) - (found.x <= -0.2))


# --- panels: a block-diagonal part ---------------------------------------------------------------------------------

PEOPLE, TIMES = 30, 6
T = np.linspace(0, 2, TIMES)
PERSON = np.repeat(np.arange(PEOPLE), TIMES)


def panel() -> tuple[Any, np.ndarray]:
    """Curves with an amplitude and a shift of each person's own, and a rate and an offset that all share."""
    draws = np.random.default_rng(0)
    truth = np.concatenate([[1.3, 0.2], draws.uniform(1, 3, PEOPLE), draws.normal(0, 0.3, PEOPLE)])

    def curves(p: Any) -> Any:
        amplitude, shift = p[2 : 2 + PEOPLE][PERSON], p[2 + PEOPLE :][PERSON]
        return amplitude * np.exp(-p[0] * np.tile(T, PEOPLE)) + shift * np.tile(T, PEOPLE) + p[1]

    seen = curves(truth) + 0.05 * draws.normal(size=PEOPLE * TIMES)
    seen[::37] += 4.0  # outliers
    return lambda p: curves(p) - seen, np.concatenate([[0.5, 0.0], np.ones(PEOPLE), np.zeros(PEOPLE)])


@pytest.fixture(scope="module")
def residuals() -> tg.optimize.Residuals:
    return tg.optimize.residuals(*panel())


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
@pytest.mark.parametrize("bounds", [None, (-0.2, 2.0)], ids=["free", "bounds"])
def test_losses_and_bounds_are_those_of_the_dense_method(
    residuals: tg.optimize.Residuals, loss: str, bounds: Any
) -> None:
    start = np.clip(residuals.x0, -0.1, 1.9)
    common = {"loss": loss, "f_scale": 0.1, "bounds": bounds, **TIGHT}
    dense = tg.optimize.least_squares(residuals, start, method="native", **common)
    for solver in SOLVERS:
        found = solved(residuals, start, solver=solver, **common)
        assert found.success
        assert found.cost == pytest.approx(dense.cost, rel=1e-9)
        np.testing.assert_allclose(found.x, dense.x, atol=2e-5)
        np.testing.assert_allclose(found.fun, residuals.fun(found.x), atol=1e-14)
        matrix = found.jac.toarray()
        np.testing.assert_allclose(matrix.T @ matrix, dense.jac.T @ dense.jac, atol=1e-3)
        np.testing.assert_array_equal(found.active_mask, dense.active_mask)


@pytest.mark.parametrize("x_scale", ["jac", 2.0])
def test_results_are_scipys(residuals: tg.optimize.Residuals, x_scale: Any) -> None:
    found = solved(residuals, residuals.x0, x_scale=x_scale, **TIGHT)
    scipys = scipy_least_squares(residuals.fun, residuals.x0, residuals.jac, x_scale=x_scale, **TIGHT)
    np.testing.assert_allclose(found.x, scipys.x, atol=1e-6)
    np.testing.assert_allclose(found.grad, found.jac.T @ found.fun, atol=1e-12)
    assert found.cost == pytest.approx(scipys.cost, rel=1e-12)
    assert found.optimality == np.abs(found.grad).max()
    assert {*scipys} <= {*found} | {"njev"}
    assert sp.issparse(found.jac)
    assert found.jac.shape == scipys.jac.shape


def test_the_blocks_of_a_panel_are_found(residuals: tg.optimize.Residuals) -> None:
    matrix = residuals.sparse_jac(residuals.x0)
    plans = [SystemPlan(matrix.shape, matrix.indptr, matrix.indices, choice) for choice in (None, False)]
    assert [plan.eliminated for plan in plans] == [2 * PEOPLE, 0]


def test_a_chain_is_left_to_fronts() -> None:
    matrix = sp.csr_array(sp.diags_array([np.ones(50), np.ones(49)], offsets=[0, 1]))
    assert SystemPlan(matrix.shape, matrix.indptr, matrix.indices, None).eliminated == 0


def test_nothing_is_eliminated_where_every_residual_has_all_parameters() -> None:
    with pytest.raises(ValueError, match="solver='schur', but no columns can be eliminated"):
        solved(lambda p: tg.exp(np.outer(T, np.arange(1, 11)) / 10 @ p), np.zeros(10), solver="schur")


# --- problems of others --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Misra1a", "Thurber", "MGH09"])
def test_nists_problems_agree_to_six_digits(name: str) -> None:
    problem = nist.load(name)
    for start in problem.starts:
        found = solved(problem.residuals, start, ftol=1e-15, xtol=1e-10, gtol=None, max_nfev=5000)
        assert nist.agreeing_digits(found.x, problem.certified) >= 6


def boundary(u: Any) -> Any:
    """Residuals of u'' = u^2 / 2 between two ends, by differences."""
    inner = u[:-2] - 2 * u[1:-1] + u[2:] - u[1:-1] ** 2 / 2 / 40**2
    return tg.concatenate([u[:1] - 1, inner, u[-1:] - 2])


def test_equations_of_a_boundary_value_problem_are_solved() -> None:
    found = solved(boundary, np.ones(41), **TIGHT)
    assert found.cost < 1e-24
    dense = tg.optimize.least_squares(boundary, np.ones(41), method="native", **TIGHT)
    np.testing.assert_allclose(found.x, dense.x, rtol=1e-10)


# --- arguments and branches ----------------------------------------------------------------------------------------


def test_structures_and_arguments_are_those_of_the_dense_method() -> None:
    start = {"level": 1.0, "slopes": np.zeros(3)}

    def misfit(p: Any, y: Any, power: float = 1.0) -> Any:
        return {"a": p["slopes"] * 2 - y, "b": p["level"] ** power - 3.0}

    y = np.array([1.0, 2.0, 3.0])
    found = solved(misfit, start, args=(y,), kwargs={"power": 2.0}, **TIGHT)
    np.testing.assert_allclose(found.x["slopes"], y / 2)
    assert found.x["level"] == pytest.approx(np.sqrt(3))


def test_recordings_and_plans_are_kept(residuals: tg.optimize.Residuals) -> None:
    first, second = (solved(residuals, residuals.x0) for _ in range(2))
    np.testing.assert_array_equal(first.x, second.x)
    assert first.nfev == second.nfev


def test_branches_with_other_patterns_are_joined() -> None:
    def misfit(p: Any) -> Any:
        if p[0] < 0.5:  # far from the minimum, the others do not count
            return tg.stack([p[0] - 2, p[1] - 1, 5 + 0 * p[2]])
        return tg.stack([p[0] * p[2] - 2, p[1] + p[2] - 3, p[2] - 2])

    for solver in (None, "normal"):
        found = solved(misfit, np.zeros(3), solver=solver, **TIGHT)
        np.testing.assert_allclose(found.x, [1.0, 1.0, 2.0], atol=1e-8)
        np.testing.assert_allclose(found.jac.toarray(), [[2, 0, 1], [0, 1, 1], [0, 0, 1]], atol=1e-7)


def test_a_branch_within_the_pattern_keeps_it() -> None:
    reached = []

    def misfit(p: Any) -> Any:
        if p[0] > -1:
            return tg.stack([tg.arctan(p[0]) + (p[1] - 90) ** 2, p[1] - 90])
        reached.append(p)
        return tg.stack([p[1] - 50, p[1] - 90])

    found = solved(misfit, np.array([1.5, 90.0]), x_scale=1.0, **TIGHT)
    assert reached
    np.testing.assert_allclose(found.x, [0.0, 90.0], atol=1e-8)
    np.testing.assert_allclose(found.jac.toarray(), np.eye(2), atol=1e-7)


# --- what goes wrong -----------------------------------------------------------------------------------------------


def test_parameters_that_change_nothing_stay() -> None:
    found = solved(lambda p: tg.stack([p[1] - 3, p[1] * p[3] - 6, 0 * p[1]]), np.ones(5), **TIGHT)
    np.testing.assert_allclose(found.x, [1, 3, 1, 2, 1], atol=1e-9)


def test_one_parameter_and_residuals_without_any() -> None:
    found = solved(lambda p: tg.concatenate([p - 2, np.ones(3), p * 3 - 6]), np.array([5.0]), **TIGHT)
    np.testing.assert_allclose(found.x, [2.0])
    assert found.cost == pytest.approx(1.5)


def test_nothing_to_fit_is_fitted() -> None:
    found = solved(lambda p: 0 * p + 1.0, np.array([2.0, 3.0]))
    np.testing.assert_array_equal(found.x, [2.0, 3.0])
    assert found.status == 1


def test_fewer_residuals_than_parameters() -> None:
    found = solved(lambda p: tg.stack([p[0] * p[1] - 2, p[1] + p[2] - 1]), np.array([1.0, 1.0, 1.0]), **TIGHT)
    assert found.cost < 1e-20


@pytest.mark.parametrize("solver", [None, "normal"])
def test_steps_to_where_residuals_are_not_finite_are_shortened(solver: Any) -> None:
    found = solved(lambda p: tg.log(p) - np.arange(4.0), np.full(4, 30.0), solver=solver, **TIGHT)
    np.testing.assert_allclose(found.x, np.exp(np.arange(4.0)))


def test_the_maximum_of_evaluations_is_kept(residuals: tg.optimize.Residuals) -> None:
    found = solved(residuals, residuals.x0, max_nfev=2)
    assert (found.nfev, found.status, found.success) == (2, 0, False)
    assert found.cost == pytest.approx(0.5 * np.sum(residuals.fun(found.x) ** 2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "qr"}, "solver='qr'; it must be one of 'normal', 'schur'"),
        ({"steps": "geodesic"}, "geodesic steps are for sparse=False"),
        ({"loss": "l1"}, "loss='l1'"),
        ({"bounds": (2.0, 3.0)}, "x0 is infeasible"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        solved(lambda p: p - 1, np.zeros(2), **options)


def test_bad_starts_are_refused() -> None:
    with pytest.raises(ValueError, match="not finite in the initial point"):
        solved(lambda p: tg.sqrt(p), np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match="x0 has no elements"):
        solved(lambda p: p, np.zeros(0))
    with pytest.raises(TypeError, match="takes no argument jac_sparsity"):
        solved(lambda p: p, np.ones(2), jac_sparsity=np.eye(2))


def test_an_interrupt_returns_the_best_point(
    residuals: tg.optimize.Residuals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Ctrl-C raises it between two slices; the test of real signals has a search of this kind, too."""
    slices: list[Slices] = []

    def go_on(self: Slices) -> bool:
        slices.append(self)
        if len(slices) == 3:
            raise KeyboardInterrupt
        self._begin()
        return True

    monkeypatch.setattr(Slices, "go_on", go_on)
    monkeypatch.setattr(interrupts, "_latest", -np.inf)
    for loss in ("linear", "cauchy"):
        slices.clear()
        found = solved(residuals, residuals.x0, loss=loss, **TIGHT)
        assert (found.status, found.success, found.nfev) == (-2, False, 3)
        assert found.message.startswith("interrupted")
        best = solved(residuals, residuals.x0, loss=loss, max_nfev=3, **TIGHT)
        np.testing.assert_array_equal(found.x, best.x)
        monkeypatch.setattr(interrupts, "_latest", -np.inf)

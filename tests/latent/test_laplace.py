"""Marginal densities by Laplace's approximation, their derivatives, and the search for the mode."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import scipy.stats
from scipy import special

import tapegrad as tg
from tapegrad.errors import NoModeError


def precision(rng: np.random.Generator, n: int, density: float = 0.2) -> np.ndarray:
    """A sparse positive definite matrix."""
    root = scipy.sparse.random_array((n, n), density=density, rng=rng).toarray()
    return root @ root.T + np.eye(n)


def dense_marginal(n: int, size: int, seed: int):
    """A Gaussian model with data ``A @ u + noise``: its joint density, and the exact marginal one."""
    rng = np.random.default_rng(seed)
    q, design, y = (
        precision(rng, n),
        rng.standard_normal((size, n)) * (rng.random((size, n)) < 0.3),
        rng.standard_normal(size),
    )
    sparse_q, sparse_design = scipy.sparse.csr_array(q), scipy.sparse.csr_array(design)
    log_det = np.linalg.slogdet(q)[1]

    def joint(theta, u):
        noise, scale = tg.exp(theta[0]), tg.exp(theta[1])
        left = (y - theta[2] - sparse_design @ u) / noise
        quadratic = scale * tg.dot(u, sparse_q @ u)
        constants = (
            0.5 * (size + n) * np.log(2 * np.pi) + size * theta[0] - 0.5 * n * theta[1] - 0.5 * log_det
        )
        return 0.5 * tg.sum(left**2) + 0.5 * quadratic + constants

    def exact(theta):
        covariance = design @ np.linalg.inv(q) @ design.T / np.exp(theta[1]) + np.exp(2 * theta[0]) * np.eye(
            size
        )
        return -scipy.stats.multivariate_normal(np.full(size, theta[2]), covariance).logpdf(y)

    return joint, exact


@pytest.mark.parametrize(("n", "size"), [(1, 3), (7, 12), (20, 9)])
def test_gaussian_models_have_their_exact_marginal_density(n: int, size: int) -> None:
    joint, exact = dense_marginal(n, size, n)
    marginal = tg.laplace(joint, random=1)
    theta = np.array([-0.3, 0.4, 0.2])
    assert marginal(theta, np.zeros(n)) == pytest.approx(exact(theta), rel=1e-11)
    value, gradient = tg.value_and_grad(marginal)(theta, np.ones(n))
    assert value == pytest.approx(exact(theta), rel=1e-11)
    steps = 1e-5 * np.eye(3)
    numerical = [(exact(theta + step) - exact(theta - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(gradient, numerical, rtol=1e-7, atol=1e-7)


COUNTS = np.random.default_rng(3).poisson(2.0, 12).astype(float)


def counts(theta, u):
    """Counts of a random walk, whose third derivatives are not zero."""
    eta = theta[0] + u
    steps = (u[1:] - tg.tanh(theta[2]) * u[:-1]) * tg.exp(-theta[1])
    first = u[0] * tg.exp(-theta[1])
    return (
        tg.sum(tg.exp(eta) - COUNTS * eta)
        + 0.5 * tg.sum(steps**2)
        + 0.5 * first**2
        + 12 * theta[1]
        + 6 * np.log(2 * np.pi)
    )


THETA = np.array([0.4, -0.5, 0.8])


def test_gradients_are_those_of_the_value() -> None:
    marginal = tg.laplace(counts, random=1)
    gradient = tg.value_and_grad(marginal)
    for theta in THETA + np.random.default_rng(0).uniform(-0.3, 0.3, (5, 3)):
        _, found = gradient(theta, np.zeros(12))
        numerical = [
            (marginal(theta + step, np.zeros(12)) - marginal(theta - step, np.zeros(12))) / 2e-4
            for step in 1e-4 * np.eye(3)
        ]
        np.testing.assert_allclose(found, numerical, rtol=2e-6, atol=2e-6)


def test_derivatives_have_all_orders_and_both_modes() -> None:
    marginal = tg.laplace(counts, random=1)
    u, along = np.zeros(12), np.array([0.3, -1.0, 0.5])
    gradient = tg.grad(marginal)
    _, slope = tg.jvp(lambda theta: marginal(theta, u), (THETA,), (along,))
    assert slope == pytest.approx(gradient(THETA, u) @ along, rel=1e-9)
    hessian = tg.hessian(marginal)(THETA, u)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-9, atol=1e-9)
    numerical = [(gradient(THETA + s, u) - gradient(THETA - s, u)) / 2e-4 for s in 1e-4 * np.eye(3)]
    np.testing.assert_allclose(hessian, numerical, rtol=1e-6, atol=1e-6)


def test_the_mode_has_derivatives_and_is_a_mode() -> None:
    marginal = tg.laplace(counts, random=1)
    mode = marginal.mode(THETA, np.zeros(12))
    assert np.abs(tg.grad(counts, argnums=1)(THETA, mode)).max() < 1e-9
    jacobian = tg.jacobian(lambda theta: marginal.mode(theta, np.zeros(12)))(THETA)
    for k, step in enumerate(1e-5 * np.eye(3)):
        moved = marginal.mode(THETA + step, mode) - marginal.mode(THETA - step, mode)
        np.testing.assert_allclose(jacobian[:, k], moved / 2e-5, rtol=1e-6, atol=1e-7)


def test_values_do_not_depend_on_the_start_and_starts_have_no_gradient() -> None:
    marginal = tg.laplace(counts, random=1)
    starts = np.random.default_rng(1).standard_normal((4, 12))
    values = [marginal(THETA, start) for start in starts]
    np.testing.assert_allclose(values, values[0], rtol=1e-12)
    assert not np.any(tg.grad(marginal, argnums=1)(THETA, starts[0]))


def test_effects_in_any_structure_and_order() -> None:
    expected = tg.value_and_grad(tg.laplace(counts, random=1))(THETA, np.zeros(12))

    def parts(theta, first, rest):
        return counts(theta, tg.concatenate([first["a"][None], tg.reshape(rest, -1)]))

    by_numbers = tg.laplace(parts, random=(1, 2))
    found = tg.value_and_grad(by_numbers)(THETA, {"a": np.zeros(())}, np.zeros((11, 1)))
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9)
    mode = by_numbers.mode(THETA, {"a": np.zeros(())}, np.zeros((11, 1)))
    assert mode[0]["a"].shape == ()
    assert mode[1].shape == (11, 1)

    by_key = tg.laplace(lambda p: counts(p["theta"], p["u"]), random="u")
    value, gradient = tg.value_and_grad(by_key)({"theta": THETA, "u": np.zeros(12)})
    assert value == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(gradient["theta"], expected[1], rtol=1e-9)
    assert not np.any(gradient["u"])

    order = np.random.default_rng(0).permutation(12)
    shuffled = tg.laplace(lambda theta, u: counts(theta, u[np.argsort(order)]), random=1)
    assert shuffled(THETA, np.zeros(12)) == pytest.approx(expected[0], rel=1e-12)


def test_scaled_effects_change_the_marginal_density_by_the_scale() -> None:
    """The density of u / s has the factor s for each effect."""
    plain, scaled = (
        tg.laplace(counts, random=1),
        tg.laplace(lambda theta, u: counts(theta, 0.1 * u), random=1),
    )
    difference = scaled(THETA, np.zeros(12)) - plain(THETA, np.zeros(12))
    assert difference == pytest.approx(12 * np.log(0.1), rel=1e-10)


def test_one_effect_a_group_agrees_with_quadrature_where_it_is_nearly_gaussian() -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    y = np.array([310.0, 280.0, 350.0])

    def nll(theta, u):
        eta = theta[0] + tg.exp(theta[1]) * u
        return tg.sum(tg.exp(eta) - y * eta) + 0.5 * tg.sum(u**2) + 1.5 * np.log(2 * np.pi)

    theta = np.array([5.7, -3.0])
    eta = theta[0] + np.exp(theta[1]) * nodes[:, None]
    exact = -np.sum(
        np.log(np.sum(weights[:, None] * np.exp(y * eta - np.exp(eta) - 1500), axis=0) / np.sqrt(2 * np.pi))
        + 1500
    )
    assert tg.laplace(nll, random=1)(theta, np.zeros(3)) == pytest.approx(exact, abs=2e-3)


def test_indefinite_starts_find_the_mode() -> None:
    """A double well far from its minima has a negative curvature in the middle."""
    marginal = tg.laplace(lambda a, u: tg.sum((u**2 - a) ** 2) + 0.1 * tg.sum(u), random=1)
    mode = marginal.mode(4.0, np.full(3, 0.05))
    np.testing.assert_allclose(np.abs(mode), 2.0, atol=0.02)


@pytest.mark.parametrize(
    ("joint", "why"),
    [
        (lambda a, u: a * tg.sum(u), "not positive definite"),
        (lambda a, u: -tg.sum(u**2) * a, "positive definite|no mode"),
        (lambda a, u: tg.sum(tg.log(u - 1.0)) * a, "nan or infinite"),
        (lambda a, u: a * tg.sum(tg.exp(-u)), "no mode|not positive definite"),
    ],
)
def test_no_mode_is_inf_with_a_reason(joint, why: str) -> None:
    marginal = tg.laplace(joint, random=1)
    with pytest.warns(RuntimeWarning, match=why):
        assert marginal(1.0, np.zeros(2)) == np.inf
    with pytest.raises(NoModeError, match=why):
        marginal.mode(1.0, np.zeros(2))
    value, gradient = tg.value_and_grad(marginal)(1.0, np.zeros(2))
    assert value == np.inf
    assert np.isnan(gradient)


def test_recorded_functions_take_it_in() -> None:
    marginal = tg.laplace(counts, random=1)
    expected = marginal(THETA, np.zeros(12))
    wrapped = tg.jit(lambda theta: 2.0 * marginal(theta, np.zeros(12)) + theta[0])
    assert wrapped(THETA) == pytest.approx(2 * expected + THETA[0], rel=1e-13)
    gradient = tg.grad(wrapped)(THETA)
    np.testing.assert_allclose(gradient, 2 * tg.grad(marginal)(THETA, np.zeros(12)) + [1, 0, 0], rtol=1e-10)
    compiled = tg.compile(tg.value_and_grad(marginal), (THETA, np.zeros(12)))
    value, slope = compiled(THETA, np.zeros(12))
    assert value == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(slope, tg.grad(marginal)(THETA, np.zeros(12)), rtol=1e-12)
    thetas = THETA + np.linspace(-0.1, 0.1, 3)[:, None]
    many = tg.vmap(marginal, in_axes=(0, None))(thetas, np.zeros(12))
    np.testing.assert_allclose(many, [marginal(theta, np.zeros(12)) for theta in thetas], rtol=1e-12)


def test_data_that_change_are_read_anew() -> None:
    data = COUNTS.copy()
    marginal = tg.laplace(lambda a, u: tg.sum(tg.exp(a + u) - data * (a + u)) + tg.sum(u**2), random=1)
    before = marginal(0.3, np.zeros(12))
    data += 1.0
    after = marginal(0.3, np.zeros(12))
    fresh = tg.laplace(lambda a, u: tg.sum(tg.exp(a + u) - data * (a + u)) + tg.sum(u**2), random=1)
    assert before != after
    assert after == pytest.approx(fresh(0.3, np.zeros(12)), rel=1e-13)


@pytest.mark.parametrize("dtype", [np.int64, np.bool_, np.float32])
def test_data_of_other_dtypes_are_read_in_replays(dtype) -> None:
    def joint(theta, u, weights):
        return tg.sum(weights * (u - theta[0]) ** 2) + 0.5 * tg.exp(theta[1]) * tg.sum(u**2)

    function = tg.value_and_grad(tg.laplace(joint, random=1))
    theta, u, weights = np.array([0.3, -0.2]), np.zeros(3), np.array([1, 0, 1], dtype)
    value, gradient = function(theta, u, weights.astype(float))
    for _ in range(3):  # the first call records, and the others replay
        found, by_theta = function(theta, u, weights)
        assert found == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(by_theta, gradient, rtol=1e-12)


def test_branches_have_their_own_patterns() -> None:
    def joint(a, u):
        chain = tg.sum((u[1:] - u[:-1]) ** 2) if a > 0 else 0.0
        return tg.sum((u - a) ** 2) + chain

    marginal = tg.laplace(joint, random=1)
    for a in (1.0, -1.0, 2.0):
        matrix = 2 * np.eye(5)
        if a > 0:
            ends = np.array([1.0, 2, 2, 2, 1])
            matrix += 2 * (np.diag(ends) - np.eye(5, k=1) - np.eye(5, k=-1))
        expected = 0.5 * np.linalg.slogdet(matrix)[1] - 2.5 * np.log(2 * np.pi)
        assert marginal(a, np.zeros(5)) == pytest.approx(expected, abs=1e-12)


def test_patterns_are_those_of_the_effects_alone() -> None:
    pattern = tg.laplace(counts, random=1).hessian_pattern(THETA, np.zeros(12))
    assert pattern.shape == (12, 12)
    assert pattern.nnz == 12 + 2 * 11


def test_wrong_arguments_say_what_to_write() -> None:
    with pytest.raises(TypeError, match="argnums"):
        tg.laplace(counts, random=1.5)
    with pytest.raises(ValueError, match="no elements"):
        tg.laplace(counts, random=1)(THETA, np.zeros(0))
    with pytest.raises(TypeError, match="dict"):
        tg.laplace(counts, random="u")(THETA)
    with pytest.raises(KeyError, match="theta"):
        tg.laplace(lambda p: p["theta"], random="u")({"theta": 1.0})
    with pytest.raises(TypeError, match="laplace"):
        tg.laplace(3.0, random=1)


def test_binomial_models_take_special_functions() -> None:
    y, size = np.array([2.0, 0.0, 5.0]), np.array([4.0, 3.0, 9.0])

    def nll(theta, u):
        return -tg.sum(tg.stats.binom.logpmf(y, size, special.expit(theta + u))) + 0.5 * tg.sum(u**2)

    value, gradient = tg.value_and_grad(tg.laplace(nll, random=1))(0.1, np.zeros(3))
    marginal = tg.laplace(nll, random=1)
    numerical = (marginal(0.1 + 1e-4, np.zeros(3)) - marginal(0.1 - 1e-4, np.zeros(3))) / 2e-4
    assert np.isfinite(value)
    assert gradient == pytest.approx(numerical, rel=1e-6)


# --- parameters that are fixed, or share a value --------------------------------------------------------------------


def test_fixed_parameters_have_no_gradient_and_tied_ones_share_it() -> None:
    u, plain = np.zeros(12), tg.value_and_grad(tg.laplace(counts, random=1))
    theta = np.array([0.4, 0.6, 0.8])
    value, gradient = tg.value_and_grad(tg.laplace(counts, random=1, map=np.array([0, -1, 0])))(theta, u)
    expected, slope = plain(np.array([0.6, 0.6, 0.6]), u)
    assert value == expected
    shared = 0.5 * (slope[0] + slope[2])
    np.testing.assert_allclose(gradient, [shared, 0.0, shared], rtol=1e-12)


def test_maps_of_dicts_leave_other_keys_free() -> None:
    def of_dict(p, data):
        return counts(p["theta"], p["u"]) + 0.0 * p["rest"] + tg.sum(data)

    p, data = {"theta": THETA, "rest": 2.0, "u": np.zeros(12)}, np.ones(2)
    fixed = tg.laplace(of_dict, "u", map={"theta": np.full(3, -1), "rest": np.array(-1)})
    assert fixed(p, data) == tg.laplace(counts, 1)(THETA, p["u"]) + 2.0
    gradient = tg.grad(tg.laplace(of_dict, "u", map={"theta": np.array([-1, 3, 7])}))(p, data)
    free = tg.grad(tg.laplace(counts, 1))(THETA, p["u"])
    np.testing.assert_allclose(gradient["theta"], [0.0, *free[1:]], rtol=1e-12)
    mode = fixed.mode(p, data)
    np.testing.assert_array_equal(mode, tg.laplace(counts, 1).mode(THETA, p["u"]))


@pytest.mark.parametrize(
    ("map_", "error", "message"),
    [
        (np.array([0, 1]), ValueError, "shape"),
        (np.array([0.0, 1.0, 2.0]), TypeError, "takes integers"),
        (np.array([0, 1, -2]), ValueError, "numbers are from 0 on"),
        ((np.zeros(1, int),) * 2, ValueError, "2 arrays"),
    ],
)
def test_maps_that_do_not_fit_raise(map_, error, message) -> None:
    with pytest.raises(error, match=message):
        tg.laplace(counts, 1, map=map_)(THETA, np.zeros(12))
    with pytest.raises(ValueError, match="all arguments are random"):
        tg.laplace(lambda u: tg.sum(u**2), 0, map=np.array([0]))(np.zeros(2))

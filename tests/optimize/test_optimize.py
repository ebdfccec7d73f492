"""Optimisation: SciPy's results with derivatives by hand, structures and callbacks."""

import pickle
import subprocess
import sys
import warnings
from collections import namedtuple
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.optimize

import tapegrad as tg
from helpers.daily import daily
from tapegrad.optimize import Objective, Residuals, least_squares, minimize, objective, residuals

START = np.array([1.3, 0.7, 0.8, 1.9])


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def bowl(p):
    """Least at a = 3 and b = [[0, 1], [2, 3]]."""
    return (p["a"] - 3) ** 2 + tg.sum((p["b"][0] - np.arange(4.0).reshape(2, 2)) ** 2)


def bowl_start():
    return {"a": 0.0, "b": [np.ones((2, 2)), np.zeros((0, 3))]}


# --- SciPy's results ------------------------------------------------------------------------------------------------


GRADIENTS = ["CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP", None]
HESSIANS = {"Newton-CG": "hess", "trust-ncg": "hess", "trust-exact": "hess", "trust-krylov": "hess"}
VALUES = ["Nelder-Mead", "Powell", "COBYLA"]


@pytest.mark.parametrize("method", GRADIENTS)
def test_gradient_methods_take_the_way_they_take_with_a_gradient_by_hand(method):
    short = {"maxfun" if method == "TNC" else "maxiter": 6}  # rounding parts the ways later on
    by_hand = scipy.optimize.minimize(
        scipy.optimize.rosen, START, jac=scipy.optimize.rosen_der, method=method, options=short
    )
    ours = minimize(rosenbrock, START, method=method, options=short)
    assert (ours.nfev, ours.nit) == (by_hand.nfev, by_hand.nit)
    np.testing.assert_allclose(ours.x, by_hand.x, rtol=1e-7)
    np.testing.assert_allclose(ours.jac, by_hand.jac, rtol=1e-5, atol=1e-6)
    assert isinstance(ours, scipy.optimize.OptimizeResult)
    found = minimize(rosenbrock, START, method=method)
    assert found.success
    np.testing.assert_allclose(found.x, 1.0, atol=1e-2)


@pytest.mark.parametrize("method", HESSIANS)
def test_hessian_methods(method):
    ours = minimize(rosenbrock, START, method=method)
    by_hand = scipy.optimize.minimize(
        scipy.optimize.rosen,
        START,
        jac=scipy.optimize.rosen_der,
        hess=scipy.optimize.rosen_hess,
        method=method,
    )
    assert ours.success
    assert abs(ours.nit - by_hand.nit) <= 3
    np.testing.assert_allclose(ours.x, 1.0, atol=1e-3)


@pytest.mark.parametrize("method", ["dogleg", "trust-constr"])
def test_methods_that_need_a_convex_start_or_many_steps(method):
    found = minimize(lambda x: tg.sum(tg.exp(x) - x), [0.5, -0.5], method=method)
    np.testing.assert_allclose(found.x, 0.0, atol=1e-3)


@pytest.mark.parametrize("method", VALUES)
def test_methods_without_derivatives(method):
    def by_hand(x):
        return rosenbrock(tg.tensor(x)).item()

    # By the same additions in the same order: long runs enlarge what rounding changes
    expected = scipy.optimize.minimize(by_hand, START, method=method)
    ours = minimize(rosenbrock, START, method=method)
    assert ours.nfev == expected.nfev
    np.testing.assert_allclose(ours.x, expected.x, rtol=1e-12)


def test_a_hessian_of_the_callers_is_used():
    calls = []

    def hess(x):
        calls.append(x)
        return scipy.optimize.rosen_hess(x)

    assert minimize(rosenbrock, START, method="trust-exact", hess=hess).success
    assert calls


def test_bounds_and_constraints_pass_through():
    bounded = minimize(rosenbrock, [2.0, 2.0], method="L-BFGS-B", bounds=[(1.5, 3.0), (None, 2.5)])
    expected = scipy.optimize.minimize(
        scipy.optimize.rosen,
        [2.0, 2.0],
        jac=scipy.optimize.rosen_der,
        method="L-BFGS-B",
        bounds=[(1.5, 3.0), (None, 2.5)],
    )
    np.testing.assert_allclose(bounded.x, expected.x, rtol=1e-6)
    sum_is_one = scipy.optimize.LinearConstraint(np.ones(3), 1.0, 1.0)
    found = minimize(lambda x: tg.sum(x**2), [1.0, 0.0, 0.0], method="SLSQP", constraints=sum_is_one)
    np.testing.assert_allclose(found.x, 1 / 3, rtol=1e-6)
    assert minimize(rosenbrock, START, method="BFGS", options={"maxiter": 2}).nit == 2
    assert minimize(rosenbrock, START, method="BFGS", tol=1e3).nit < 5


# --- structures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["BFGS", "trust-krylov", "trust-constr", "Nelder-Mead"])
def test_structures_come_back(method):
    options = {"maxiter": 4000, "fatol": 1e-12, "xatol": 1e-8} if method == "Nelder-Mead" else {}
    found = minimize(bowl, bowl_start(), method=method, options=options)
    assert found.x["a"] == pytest.approx(3, abs=1e-3)
    assert isinstance(found.x["a"], np.float64)
    np.testing.assert_allclose(found.x["b"][0], np.arange(4.0).reshape(2, 2), atol=1e-3)
    assert found.x["b"][1].shape == (0, 3)
    gradient = found.get("grad" if method == "trust-constr" else "jac")
    if method != "Nelder-Mead":
        assert gradient["b"][0].shape == (2, 2)
        assert abs(gradient["a"]) < 1e-3


def test_named_tuples_scalars_and_matrices():
    Point = namedtuple("Point", "x y")
    found = minimize(lambda p: (p.x - 1) ** 2 + (p.y + 2) ** 2, Point(0.0, 0.0))
    assert type(found.x) is Point
    assert found.x.y == pytest.approx(-2, abs=1e-4)
    assert minimize(lambda x: (x - 2) ** 2, 5).x == pytest.approx(2, abs=1e-4)
    assert minimize(lambda m: tg.sum((m - 1) ** 2), np.zeros((2, 3))).x.shape == (2, 3)


def test_single_precision_leaves_keep_their_type():
    seen = []

    def loss(p):
        seen.append((p[0].dtype, p[1].dtype))
        return tg.sum((p[0] - 1) ** 2) + tg.sum((p[1] - 2) ** 2)

    found = minimize(loss, [np.zeros(2, np.float32), np.zeros(2)])
    assert set(seen) == {(np.dtype(np.float32), np.dtype(np.float64))}
    assert found.x[0].dtype == found.jac[0].dtype == np.float32
    assert found.x[1].dtype == np.float64
    np.testing.assert_allclose(found.x[0], 1.0, atol=1e-4)


def test_integers_become_floats_and_lists_of_numbers_vectors():
    found = minimize(rosenbrock, [3, 1])
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)
    assert found.x.shape == found.jac.shape == (2,)


def test_other_arguments_may_be_arrays_numbers_and_fixed_values():
    def loss(x, centre, power, scale):
        return scale * tg.sum((x - centre) ** power)

    for method in ("BFGS", "Newton-CG", "trust-exact", "Powell"):
        found = minimize(loss, np.zeros(2), (np.array([1.0, 2.0]), 2, 0.5), method)
        np.testing.assert_allclose(found.x, [1.0, 2.0], atol=1e-4)
    np.testing.assert_allclose(minimize(lambda x, a: (x[0] - a) ** 2, [0.0], 3.0).x, 3.0, atol=1e-4)


# --- objectives -----------------------------------------------------------------------------------------------------


def test_objective_is_what_scipy_wants():
    loss = objective(bowl, bowl_start())
    assert isinstance(loss, Objective)
    result = scipy.optimize.minimize(loss.fun, loss.x0, jac=True, hessp=loss.hessp, method="trust-ncg")
    assert loss.unravel(result.x)["a"] == pytest.approx(3)
    np.testing.assert_array_equal(loss.ravel(loss.unravel(result.x)), result.x)
    np.testing.assert_allclose(loss.hess(loss.x0), 2 * np.eye(5), atol=1e-12)
    np.testing.assert_allclose(loss.hessp(loss.x0, np.arange(5.0)), 2 * np.arange(5.0), atol=1e-12)
    value, gradient = loss.fun(bowl_start())
    assert value == loss.value(loss.x0)
    np.testing.assert_array_equal(gradient, loss.grad(loss.x0))


def test_derivatives_are_those_by_hand():
    loss = objective(rosenbrock)
    value, gradient = loss.fun(START)
    assert value == pytest.approx(scipy.optimize.rosen(START), rel=1e-14)
    np.testing.assert_allclose(gradient, scipy.optimize.rosen_der(START), rtol=1e-13)
    np.testing.assert_allclose(loss.hess(START), scipy.optimize.rosen_hess(START), rtol=1e-13, atol=1e-12)
    v = np.arange(4.0)
    np.testing.assert_allclose(loss.hessp(START, v), scipy.optimize.rosen_hess_prod(START, v), rtol=1e-13)
    assert loss.fun(np.ones(7))[1].shape == (7,)


def test_gradients_are_new_arrays():
    loss = objective(rosenbrock, START)
    first = loss.fun(START)[1]
    kept = first.copy()
    second = loss.fun(START + 1)[1]
    assert first is not second
    np.testing.assert_array_equal(first, kept)


def test_branches_on_data_are_recorded_anew():
    def loss(x):
        if x[0] > 1:
            return tg.sum((x - 1) ** 2)
        return tg.sum((x - 1) ** 4)

    both = objective(loss, np.zeros(2))
    for x in (np.zeros(2), np.full(2, 2.5), np.zeros(2)):
        power = 2 if x[0] > 1 else 4
        value, gradient = both.fun(x)
        assert value == pytest.approx(np.sum((x - 1) ** power))
        np.testing.assert_allclose(gradient, power * (x - 1) ** (power - 1))


def test_infinite_outside_a_region():
    def loss(x):
        if x[0] < 0:
            return np.inf
        return tg.sum(x - tg.log(1 + x))

    value, gradient = objective(loss, [1.0]).fun(np.array([-1.0]))
    assert value == np.inf
    np.testing.assert_array_equal(gradient, 0.0)


NORMAL = np.random.default_rng(11).normal(2.0, 1.5, 40)


def likelihood(p):
    """Less the logarithm of the normal distribution's, with the guard at its head that everyone writes."""
    if p[1] <= 0:
        return np.inf
    return NORMAL.size * np.log(p[1]) + np.sum(((NORMAL - p[0]) / p[1]) ** 2) / 2


def likelihood_gradient(p):
    if p[1] <= 0:
        return np.zeros(2)
    z = (NORMAL - p[0]) / p[1]
    return np.array([-np.sum(z) / p[1], (NORMAL.size - np.sum(z**2)) / p[1]])


@pytest.mark.parametrize("prepare", [lambda f: f, tg.jit], ids=["plain", "replayed"])
@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "TNC", "Nelder-Mead", "Powell"])
def test_a_guard_at_the_head_is_infinite_as_for_scipy(method, prepare):
    """From a start so near the border that the first long step leaves the region."""
    start = np.array([2.0, 0.05])
    gradient = None if method in VALUES else likelihood_gradient
    with np.errstate(all="ignore"):
        by_hand = scipy.optimize.minimize(likelihood, start, jac=gradient, method=method)
        ours = minimize(prepare(likelihood), start, method=method)
    assert ours.success == by_hand.success
    np.testing.assert_allclose(ours.x, by_hand.x, rtol=1e-4)
    value, gradient = objective(prepare(likelihood), start).fun(np.array([1.0, -1.0]))
    assert value == np.inf
    np.testing.assert_array_equal(gradient, 0.0)


@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-exact", "trust-krylov", "trust-constr"])
def test_a_guard_that_is_not_reached_does_no_harm_to_second_derivatives(method):
    found = minimize(tg.jit(likelihood), np.array([1.5, 1.6]), method=method)
    np.testing.assert_allclose(found.x, [np.mean(NORMAL), np.std(NORMAL)], rtol=1e-3)
    border = objective(likelihood, np.ones(2))
    np.testing.assert_array_equal(border.hess(np.array([1.0, -1.0])), np.zeros((2, 2)))
    np.testing.assert_array_equal(border.hessp(np.array([1.0, -1.0]), np.ones(2)), np.zeros(2))


def test_a_variable_of_the_function_that_is_bound_anew_is_seen():
    centre = 1.0

    def loss(p):
        return (p["x"] - centre) ** 2

    bound = objective(loss, {"x": 0.0})
    assert bound.fun(np.zeros(1))[0] == 1
    centre = 3.0
    assert bound.fun(np.zeros(1))[0] == 9


def test_an_argument_with_attributes_is_seen():
    class Model:
        scale = 1.0

    model = Model()
    scaled = objective(lambda x, m: tg.sum(x) * m.scale, [1.0])
    assert scaled.fun(np.ones(1), model)[0] == 1
    model.scale = 2.0
    assert scaled.fun(np.ones(1), model)[0] == 2


def test_recordings_of_a_replayed_function_are_kept():
    runs = []

    @tg.jit
    def loss(p):
        runs.append(1)
        return tg.sum((p["x"] - 1) ** 2)

    for start in range(3):
        minimize(loss, {"x": np.full(2, float(start))}, method="BFGS")
    assert len(runs) == 1


def test_a_fitted_objective_may_be_passed_on():
    loss = objective(rosenbrock, START)
    assert minimize(loss, START + 0.1).success
    assert loss.at(START) is loss
    assert minimize(loss, np.zeros(2)).x.shape == (2,)


# --- least squares --------------------------------------------------------------------------------------------------


TIMES = np.linspace(0, 2, 15)
MEASURED = 3 * np.exp(-1.3 * TIMES) + 0.01 * np.random.default_rng(3).normal(size=15)


def decay(b):
    return b[0] * np.exp(-b[1] * TIMES) - MEASURED


def decay_jacobian(b):
    return np.stack([np.exp(-b[1] * TIMES), -b[0] * TIMES * np.exp(-b[1] * TIMES)], axis=1)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "lm"},
        {"method": "dogbox"},
        {"loss": "soft_l1", "f_scale": 0.1},
        {"bounds": ([0.0, 0.0], [2.5, np.inf])},
        {"x_scale": "jac", "ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15},
    ],
    ids=str,
)
def test_least_squares_is_scipys_with_the_jacobian_by_hand(options):
    by_hand = scipy.optimize.least_squares(decay, [1.0, 1.0], decay_jacobian, **options)
    ours = least_squares(decay, [1.0, 1.0], **options)
    np.testing.assert_allclose(ours.x, by_hand.x, rtol=1e-7)
    np.testing.assert_allclose(ours.jac, by_hand.jac, rtol=1e-6)
    assert ours.success
    assert ours.cost == pytest.approx(by_hand.cost)


def test_residuals_of_structures_and_in_several_parts():
    def parts(p):
        grid = p["a"] * np.ones((2, 3)) - 1
        return {"grid": grid, "one": p["b"][0] - 2, "constant": np.zeros(2)}

    found = least_squares(parts, {"a": 0.0, "b": np.zeros(1)})
    assert found.x["a"] == pytest.approx(1)
    np.testing.assert_allclose(found.x["b"], 2)
    assert found.fun.shape == (9,)
    assert found.jac.shape == (9, 2)
    both = residuals(parts, {"a": 0.0, "b": np.zeros(1)})
    assert isinstance(both, Residuals)
    np.testing.assert_array_equal(both.jac(both.x0), [[0, 0]] * 2 + [[1, 0]] * 6 + [[0, 1]])


def test_residuals_with_arguments():
    found = least_squares(lambda b, t, y: b[0] * tg.exp(-b[1] * t) - y, [1.0, 1.0], (TIMES, MEASURED))
    np.testing.assert_allclose(found.x, least_squares(decay, [1.0, 1.0]).x, rtol=1e-6)


def test_arguments_by_name():
    def model(b, times, *, measured, offset=0.0):
        return b[0] * tg.exp(-b[1] * times) + offset - measured

    named = {"measured": MEASURED, "offset": 0.1}
    found = least_squares(model, [1.0, 1.0], (TIMES,), kwargs=named)
    expected = scipy.optimize.least_squares(lambda b: decay(b) + 0.1, [1.0, 1.0])
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-5)


def test_residuals_that_are_not_finite_are_scipys_to_judge():
    def guarded(b):
        return np.full(15, np.inf) if b[1] < 0 else decay(b)

    np.testing.assert_allclose(
        least_squares(guarded, [1.0, 0.1]).x, least_squares(decay, [1.0, 1.0]).x, rtol=1e-5
    )
    for nothing in (lambda b: b / 0.0, lambda b: np.inf):
        with np.errstate(all="ignore"), pytest.raises(ValueError, match="not finite in the initial point"):
            least_squares(nothing, [1.0, 1.0])


# --- the table of options: fields and types as SciPy's --------------------------------------------------------------

SUM_IS_ONE = {"type": "eq", "fun": lambda x: np.sum(x) - 1, "jac": lambda x: np.ones(4)}
IN_BALL = {"type": "ineq", "fun": lambda x, radius: radius**2 - np.sum(x**2), "args": (3.0,)}
OPTIONS = {
    "plain": {},
    "tolerance": {"tol": 1e-3},
    "options": {"options": {"maxiter": 3}},
    "no derivatives of the caller's": {"hess": None, "hessp": None, "jac": None},
    "no gradient of the caller's": {"jac": False},
    "nothing": {"bounds": None, "constraints": (), "callback": None, "options": None, "tol": None},
    "bounds": {"bounds": [(0.5, 1.95)] * 4},
    "bounds of SciPy's": {"bounds": scipy.optimize.Bounds(np.full(4, 0.5), np.full(4, 1.95))},
    "constraint": {"constraints": SUM_IS_ONE},
    "constraints": {"constraints": [SUM_IS_ONE, IN_BALL]},
    "arguments": {"args": (2.0,)},
    "one argument": {"args": 2.0},
}
BOUNDED = {None, "L-BFGS-B", "TNC", "SLSQP", "trust-constr", "Nelder-Mead", "Powell"}
CONSTRAINED = {None, "SLSQP", "trust-constr"}
METHODS = [*GRADIENTS, "Newton-CG", "trust-constr", "Nelder-Mead", "Powell"]
TABLE = [
    (method, name)
    for method in METHODS
    for name in OPTIONS
    if (method in BOUNDED or "bounds" not in name) and (method in CONSTRAINED or "constraint" not in name)
]


def shifted(x, shift=0.0):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2) + shift


@daily(every=3)
@pytest.mark.parametrize(("method", "name"), TABLE)
def test_options_give_results_of_scipys_fields_and_types(method, name):
    options = OPTIONS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's, of methods that go by differences, or stop early
        ours = minimize(fun=shifted, x0=START, method=method, **options)
        if method == "Newton-CG":  # SciPy's has no differences of its own
            options = {
                **options,
                "jac": lambda x, *args: scipy.optimize.approx_fprime(x, shifted, 1e-8, *args),
            }
        by_differences = scipy.optimize.minimize(shifted, START, method=method, **options)
    assert set(ours) == set(by_differences)
    for field in ("x", "fun", "success", "message", "nit", "nfev", "status", "jac", "hess_inv"):
        assert type(ours.get(field)) is type(by_differences.get(field)), field
        assert np.shape(ours.get(field)) == np.shape(by_differences.get(field)), field
    if by_differences.success and ours.success:
        assert ours.fun <= by_differences.fun + 1e-2


# --- callbacks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B"])
def test_callbacks_in_both_forms_get_structures(method):
    positions, results = [], []

    def by_result(intermediate_result):
        results.append(intermediate_result)

    start = {"x": START}
    loss = objective(lambda p: rosenbrock(p["x"]), start)
    one = minimize(loss, start, method=method, callback=positions.append)
    other = minimize(loss, start, method=method, callback=by_result)
    assert len(positions) == one.nit == other.nit == len(results)
    np.testing.assert_array_equal(positions[-1]["x"], one.x["x"])
    np.testing.assert_array_equal(results[-1].x["x"], one.x["x"])
    assert results[-1].fun == pytest.approx(one.fun)


def test_a_callback_may_stop():
    def stop(x):
        raise StopIteration

    assert minimize(rosenbrock, START, method="BFGS", callback=stop).nit == 1


def test_trust_constr_gives_its_callback_the_state():
    states = []
    minimize(
        lambda p: p["x"] ** 2,
        {"x": 1.0},
        method="trust-constr",
        callback=lambda x, state: states.append((x, state.nit)),
    )
    assert states[0][0].keys() == {"x"}
    assert states[0][1] >= 1


# --- what is refused ------------------------------------------------------------------------------------------------


def vector_valued(x):
    return x * 2


REFUSED = {
    "vector": (
        lambda: minimize(vector_valued, START),
        ValueError,
        r"vector_valued returned shape \(4,\).*sum",
    ),
    "text": (lambda: minimize(lambda x: "low", START), TypeError, "returned str.*must return a scalar value"),
    "digits": (lambda: minimize(lambda x: "1.5", START), TypeError, "returned str"),
    "none": (
        lambda: minimize(lambda x: None, START),
        TypeError,
        "None.* a scalar value; is a return missing",
    ),
    "none for SciPy": (lambda: minimize(lambda x: None, START), ValueError, "scalar value"),
    "none by values": (lambda: minimize(lambda x: None, START, method="Powell"), TypeError, "returned None"),
    "none replayed": (lambda: minimize(tg.jit(lambda x: None), START), TypeError, "returned None"),
    "none on one side": (
        lambda: minimize(lambda x: tg.sum(x**4) if x[0] > 1.2 else None, START),
        TypeError,
        "returned None",
    ),
    "shape": (lambda: minimize(vector_valued, START), TypeError, r"shape \(4,\)"),
    "empty": (lambda: minimize(lambda x: x[:0], START), TypeError, r"shape \(0,\)"),
    "pair": (lambda: minimize(lambda x: (tg.sum(x), x), START), TypeError, "returned tuple"),
    "mapping": (lambda: minimize(lambda x: {"f": 1.0}, START), TypeError, "returned dict"),
    "complex value": (lambda: minimize(lambda x: 1j, START), TypeError, "returned complex"),
    "no residuals": (
        lambda: least_squares(lambda x: None, START),
        TypeError,
        "returned None.*return missing",
    ),
    "text for residuals": (lambda: least_squares(lambda x: ["a"], START), TypeError, "returned str"),
    "tensor argument": (
        lambda: minimize(shifted, START, tg.tensor(1.0)),
        TypeError,
        r"args\[0\] is a Tensor",
    ),
    "tensor inside": (
        lambda: minimize(shifted, START, (1.0, {"c": tg.tensor(1.0)}), "Nelder-Mead"),
        TypeError,
        r"args\[1\]\['c'\] is a Tensor",
    ),
    "tensor for residuals": (
        lambda: least_squares(lambda x, a: x - a, START, (tg.tensor(START),)),
        TypeError,
        r"args\[0\] is a Tensor.*pass its \.data",
    ),
    "tensor by name": (
        lambda: least_squares(lambda x, a: x - a, START, kwargs={"a": tg.tensor(START)}),
        TypeError,
        r"kwargs\['a'\] is a Tensor",
    ),
    "jac": (lambda: minimize(rosenbrock, START, jac=True), TypeError, "leave out the argument jac"),
    "jacobian": (lambda: least_squares(decay, START, jac="2-point"), TypeError, "leave out the argument jac"),
    "leaf": (lambda: minimize(bowl, {"a": ["x"]}), TypeError, r"x0\['a'\]\[0\].* not str"),
    "complex": (lambda: minimize(rosenbrock, START + 0j), TypeError, "complex128"),
    "nothing": (lambda: least_squares(lambda x: [], [1.0]), ValueError, "returned nothing"),
    "start": (lambda: objective(rosenbrock).x0, ValueError, "pass x0"),
    "layout": (lambda: objective(rosenbrock).ravel([1.0]), ValueError, "pass x0"),
    "other": (lambda: objective(bowl, bowl_start()).fun({"a": 1.0}), ValueError, "x0 has the leaves"),
    "length": (lambda: objective(bowl, bowl_start()).unravel(np.ones(3)), ValueError, "x0 has 5 elements"),
    "option": (lambda: minimize(rosenbrock, START, nonsense=1), TypeError, "nonsense"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call()


def test_importing_the_package_does_not_import_scipys_optimisers():
    code = "import sys, tapegrad; sys.exit('scipy.optimize' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=300).returncode == 0


@pytest.mark.parametrize("method", ["BFGS", "native"])
def test_notebooks_show_results_as_tables(method: str) -> None:
    start = {"a": 0.0, "b": np.zeros(2)}
    found = minimize(lambda p: (p["a"] - 1) ** 2 + tg.sum((p["b"] - 2) ** 2), start, method=method)
    cells = [cell.text for cell in ElementTree.fromstring(f"<p>{found._repr_html_()}</p>").iter("td")]
    assert cells[-4:] == ["x['a']", "1", "x['b']", "[2 2]"]
    copy = pickle.loads(pickle.dumps(found))
    assert repr(copy) == repr(found)
    assert isinstance(copy, scipy.optimize.OptimizeResult)


def test_notebooks_show_standard_errors_like_the_parameters() -> None:
    start = {"a": np.zeros(2), "b": 0.0}
    offsets = lambda p: tg.concatenate([p["a"] - 1, p["a"] + 1, p["b"] * np.array([1.0, 1.0])])  # noqa: E731
    found = least_squares(offsets, start, method="native")
    errors = np.sqrt(np.diag(found.covariance))
    cells = [cell.text for cell in ElementTree.fromstring(f"<p>{found._repr_html_()}</p>").iter("td")]
    assert cells[-6:] == [
        *("x['a']", "[0 0]", f"[{errors[0]:.6g} {errors[1]:.6g}]"),
        *("x['b']", "0", f"{errors[2]:.6g}"),
    ]

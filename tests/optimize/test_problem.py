"""Constrained problems: structures and entries against dense derivatives, limits, and solutions by Ipopt."""

import pickle
import signal
import sys
import threading

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import Bounds

import tapegrad as tg
from helpers.daily import daily
from tapegrad.errors import GrownStructureError
from tapegrad.optimize import objective, problem, residuals
from tapegrad.pytree import flatten

X = np.linspace(0.5, 1.5, 6)
STENCIL = scipy.sparse.diags_array([1.0, -2.0, 1.0], offsets=(-1, 0, 1), shape=(6, 6)).tocsr()


def rosenbrock(x):
    return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


PROBLEMS = {
    "chain": (rosenbrock, lambda x: x[2:] * tg.sin(x[1:-1] - x[:-2])),
    "several arrays": (
        rosenbrock,
        lambda x: {"b": x[:2] * x[4:], "a": tg.sum(x**3), "c": x.reshape(2, 3) ** 2},
    ),
    "linear objective": (tg.sum, lambda x: x @ x),
    "linear constraints": (rosenbrock, lambda x: STENCIL @ x),
    "all linear": (tg.sum, lambda x: x[:2] - x[2:4]),
    "constant constraint": (rosenbrock, lambda x: [x[0] * x[1], 3.0]),
    "none": (rosenbrock, None),
    "empty": (rosenbrock, lambda x: x[:0]),
    "nothing": (rosenbrock, lambda x: []),
    "dense": (lambda x: tg.sum(x) ** 3, lambda x: tg.cumsum(x**2)),
}


def flat(g):
    """Return constraints as a function that returns a vector."""

    def vector(x):
        leaves = [] if g is None else flatten(g(x))[0]
        return tg.concatenate([0.0 * x[:0], *(tg.reshape(each, -1) for each in leaves)])

    return vector


def matrix(structure, entries, shape):
    found = np.zeros(shape)
    np.add.at(found, structure, entries)
    return found


# --- structures and entries -----------------------------------------------------------------------------------------


@daily(every=2)
@pytest.mark.parametrize("name", PROBLEMS)
def test_entries_are_those_of_dense_derivatives(name):
    f, g = PROBLEMS[name]
    task = problem(f, X, g, constraint_bounds=(None, 0.0))
    vector, draws = flat(g), np.random.default_rng(0)
    of_jacobian, of_hessian = task.jacobianstructure(), task.hessianstructure()
    assert all(each.dtype == np.int32 for each in (*of_jacobian, *of_hessian))
    assert (of_hessian[0] >= of_hessian[1]).all()
    for x in draws.uniform(0.5, 1.5, (3, 6)):
        factor, multipliers = draws.normal(), draws.normal(size=task.m)

        def lagrangian(x, factor=factor, multipliers=multipliers):
            return factor * f(x) + tg.sum(multipliers * vector(x))

        assert task.objective(x) == tg.jit(f)(x)
        np.testing.assert_array_equal(task.gradient(x), tg.grad(f)(x))
        np.testing.assert_array_equal(task.constraints(x), tg.jit(vector)(x))
        found = matrix(of_jacobian, task.jacobian(x), (task.m, 6))
        np.testing.assert_allclose(found, tg.jacobian(vector)(x), rtol=1e-13, atol=1e-13)
        found = matrix(of_hessian, task.hessian(x, multipliers, factor), (6, 6))
        np.testing.assert_allclose(found, np.tril(tg.hessian(lagrangian)(x)), rtol=1e-12, atol=1e-11)


def test_structures_have_no_more_than_there_is():
    task = problem(*CHAIN)
    assert len(task.jacobianstructure()[0]) == 3 * 4
    assert len(task.hessianstructure()[0]) == 6 + 5 + 4  # the diagonal and two bands below it
    linear = problem(rosenbrock, X, lambda x: STENCIL @ x)
    assert len(linear.hessianstructure()[0]) == 6 + 5
    assert len(problem(tg.sum, X, lambda x: x[:2] - x[2:4]).hessianstructure()[0]) == 0


CHAIN = (rosenbrock, X, lambda x: x[2:] * tg.sin(x[1:-1] - x[:-2]))


def test_an_op_without_tangents_has_a_lower_triangle():
    """Its Hessian is computed by rows, in reverse."""
    cube = tg.custom_op("cube", lambda x: x**3, lambda y_bar, y, x: y_bar * 3 * x**2, differentiable=True)
    task = problem(lambda x: tg.sum(cube(x) * x), X, lambda x: cube(x[1:]) * x[:-1])
    found = matrix(task.hessianstructure(), task.hessian(X, np.ones(5), 2.0), (6, 6))
    expected = tg.hessian(lambda x: 2 * tg.sum(x**4) + tg.sum(x[1:] ** 3 * x[:-1]))(X)
    np.testing.assert_allclose(found, np.tril(expected), rtol=1e-13)


def test_a_dense_problem_does_not_warn():
    n = 70
    task = problem(lambda x: tg.sum(x) ** 3, np.ones(n), lambda x: tg.ones((n, n)) @ x**2)
    assert len(task.hessianstructure()[0]) == n * (n + 1) // 2
    assert len(task.jacobianstructure()[0]) == n * n


def test_structures_of_arguments():
    """The vector is the leaves one after the other, and limits may be structures."""
    start = {"u": np.zeros((2, 2)), "t": 3.0}
    task = problem(
        lambda p: p["t"] * tg.sum(p["u"] ** 2),
        start,
        lambda p: {"path": p["u"][0], "end": p["t"] - p["u"][1, 1]},
        bounds=({"u": -1.0, "t": 0.5}, {"u": [[1.0, 2.0], [3.0, np.inf]], "t": np.inf}),
        constraint_bounds=({"path": -np.inf, "end": 1.0}, {"path": [4.0, 5.0], "end": 1.0}),
    )
    assert (task.n, task.m) == (5, 3)
    np.testing.assert_array_equal(task.x0, [3, 0, 0, 0, 0])
    np.testing.assert_array_equal(task.lb, [0.5, -1, -1, -1, -1])
    np.testing.assert_array_equal(task.ub, [np.inf, 1, 2, 3, np.inf])
    np.testing.assert_array_equal(task.cl, [1, -np.inf, -np.inf])
    np.testing.assert_array_equal(task.cu, [1, 4, 5])
    x = np.array([2.0, 1.0, 2.0, 3.0, 4.0])
    assert task.objective(x) == 60.0
    np.testing.assert_array_equal(task.constraints(x), [-2, 1, 2])
    assert task.unravel(x)["u"][1, 0] == 3.0
    np.testing.assert_array_equal(task.ravel(task.unravel(x)), x)


def test_further_arguments():
    task = problem(lambda x, a, b: a * tg.sum(x**2) + b, X, lambda x, a, b: b * x[:2], args=(2.0, 1.0))
    assert task.objective(np.ones(6)) == 13.0
    task.args = (1.0, 3.0)
    assert task.objective(np.ones(6)) == 9.0
    np.testing.assert_array_equal(task.jacobian(X), [3.0, 3.0])
    np.testing.assert_array_equal(task.hessian(X, [0.0, 0.0], 0.5), np.ones(6))


def test_recordings_of_jitted_functions_are_shared():
    f, g = tg.jit(rosenbrock), tg.jit(CHAIN[2])
    first, second = problem(f, X, g), problem(f, X, g)
    for task in (first, second):
        task.objective(X), task.gradient(X), task.jacobianstructure(), task.hessianstructure()
    assert first._functions.hessian._recorded is second._functions.hessian._recorded
    assert f.log.count <= 1
    assert second._functions.hessian._recorded.log.count == 1


def test_objectives_and_residuals_are_functions():
    f, g = objective(rosenbrock, np.zeros(6)), residuals(lambda x: {"a": x[:2], "b": x[5]})
    task = problem(f, X, g)
    assert task.objective(X) == f.value(X)
    np.testing.assert_array_equal(task.x0, X)
    np.testing.assert_array_equal(task.constraints(X), X[[0, 1, 5]])


def test_a_problem_is_pickled():
    task = problem(tg.sum, X, np.cumsum, bounds=[(0, None)] * 6, constraint_bounds=(1, 2))
    task.ub[2] = 5.0
    task = pickle.loads(pickle.dumps(task))
    np.testing.assert_array_equal(task.constraints(X), np.cumsum(X))
    np.testing.assert_array_equal(task.lb, np.zeros(6))
    assert task.ub[2] == 5.0
    assert repr(task) == "<problem of 6 variables and 6 constraints>"


# --- branches -------------------------------------------------------------------------------------------------------


def test_branches_share_a_structure():
    """What a branch has nothing of is zero; a branch with entries elsewhere says so, once."""

    def bent(x):
        return x[0] * x[1] if x[0] > 1 else x[0] ** 2 * x[2] + x[1]

    task = problem(lambda x: tg.sum(x**2), [2.0, 1.0, 1.0], bent)
    assert len(task.jacobianstructure()[0]) == 2
    low, high = np.array([0.5, 3.0, 2.0]), np.array([2.0, 3.0, 4.0])
    with pytest.raises(
        GrownStructureError, match=r"entries outside of jacobianstructure\(\), which has them now"
    ):
        task.jacobian(low)
    structure = task.jacobianstructure()
    for _ in range(2):
        np.testing.assert_array_equal(matrix(structure, task.jacobian(low), (1, 3)), [[2.0, 1.0, 0.25]])
        np.testing.assert_array_equal(matrix(structure, task.jacobian(high), (1, 3)), [[3.0, 2.0, 0.0]])
    np.testing.assert_array_equal(task.hessian(high, [1.0], 0.0), [0.0, 1.0, 0.0, 0.0])
    with pytest.raises(GrownStructureError, match="hessianstructure"):
        task.hessian(low, [1.0], 0.0)
    found = matrix(task.hessianstructure(), task.hessian(low, [1.0], 0.0), (3, 3))
    np.testing.assert_array_equal(found, [[4.0, 0, 0], [0, 0, 0], [1.0, 0, 0]])
    found = matrix(task.hessianstructure(), task.hessian(high, [1.0], 1.0), (3, 3))
    np.testing.assert_array_equal(found, [[2.0, 0, 0], [1.0, 2.0, 0], [0, 0, 2.0]])


# --- limits ---------------------------------------------------------------------------------------------------------


def test_forms_of_limits():
    pairs = problem(tg.sum, [0.0, 0.0], lambda x: x * 2, [(None, 1), (2, None)], Bounds(-1, [3, 4]))
    np.testing.assert_array_equal(pairs.lb, [-np.inf, 2])
    np.testing.assert_array_equal(pairs.ub, [1, np.inf])
    np.testing.assert_array_equal(pairs.cl, [-1, -1])
    np.testing.assert_array_equal(pairs.cu, [3, 4])
    scipys = problem(tg.sum, X.reshape(2, 3), lambda x: x * 2, Bounds(0.0, np.arange(6)))
    np.testing.assert_array_equal(scipys.ub, np.arange(6))
    np.testing.assert_array_equal(scipys.cl, np.zeros(6))
    free = problem(tg.sum, X)
    assert np.isneginf(free.lb).all()
    assert np.isposinf(free.ub).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bounds": [(0, 1)] * 5}, "bounds must be a scipy.optimize.Bounds, 6 pairs"),
        (
            {"bounds": Bounds(np.zeros(4), 1.0)},
            r"the lower ones have shape \(4,\) for variables of shape \(6,\)",
        ),
        ({"bounds": [(0, np.nan)] * 6}, "the upper ones have a nan"),
        ({"constraint_bounds": 0.0}, r"must be a pair \(lower, upper\), such as"),
        (
            {"constraint_bounds": (0.0, np.zeros(3))},
            r"the upper ones have shape \(3,\) for constraints of shape \(2,\)",
        ),
    ],
)
def test_wrong_limits_raise(given, message):
    with pytest.raises(ValueError, match=message):
        problem(rosenbrock, X, lambda x: x[:2], **given)


def test_wrong_functions_and_arguments_raise():
    with pytest.raises(TypeError, match="problem"):
        problem(3.0, X)
    with pytest.raises(TypeError, match="problem"):
        problem(rosenbrock, X, 3.0)
    with pytest.raises(TypeError, match="must return a scalar value"):
        problem(lambda x: x**2, X).objective(X)
    with pytest.raises(TypeError, match="is a Tensor"):
        problem(lambda x, a: a * tg.sum(x), X, args=tg.tensor(1.0))
    task = problem(*CHAIN)
    with pytest.raises(ValueError, match=r"lagrange has the shape \(3,\), but there are 4 constraints"):
        task.hessian(X, np.zeros(3), 1.0)
    with pytest.raises(ValueError, match=r"float64\[5\], but x0 has"):
        task.gradient(np.zeros(5))


def test_without_ipyopt_solve_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipyopt", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tapegrad\[ipopt\]'"):
        problem(rosenbrock, X).solve()


# --- Ipopt ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def _ipopt():
    """Skip where there is no wheel of ipyopt: it is installed with the other tools of the tests where there is one."""
    pytest.importorskip("ipyopt")


with_ipopt = pytest.mark.usefixtures("_ipopt")


def hs071(**given):
    """Return problem 71 of Hock and Schittkowski."""
    return problem(
        lambda x: x[0] * x[3] * tg.sum(x[:3]) + x[2],
        [1.0, 5.0, 5.0, 1.0],
        lambda x: [tg.prod(x), tg.sum(x**2)],
        bounds=[(1, 5)] * 4,
        constraint_bounds=([25, 40], [np.inf, 40]),
        **given,
    )


def check_multipliers(task, found, tol=1e-6):
    """Check the conditions of Karush, Kuhn and Tucker, by the signs that `solve` documents."""
    x, multipliers = task.ravel(found.x), np.ravel(found.multipliers)
    slope = (
        task.gradient(x)
        + matrix(task.jacobianstructure(), task.jacobian(x), (task.m, task.n)).T @ multipliers
    )
    lower, upper = task.ravel(found.lower_multipliers), task.ravel(found.upper_multipliers)
    np.testing.assert_allclose(slope - lower + upper, 0.0, atol=tol)
    assert min(lower.min(), upper.min()) >= 0.0
    values = task.constraints(x)
    assert (multipliers[values < task.cu - 1e-4] <= tol).all()
    assert (multipliers[values > task.cl + 1e-4] >= -tol).all()
    assert found.optimality <= tol
    assert found.constr_violation <= tol


@with_ipopt
def test_hs071():
    task = hs071()
    found = task.solve()
    assert (found.success, found.status, found.message) == (True, 0, "solved")
    np.testing.assert_allclose(found.x, [1.0, 4.74299963, 3.82114998, 1.37940829], rtol=1e-7)
    np.testing.assert_allclose(found.fun, 17.0140173, rtol=1e-8)
    np.testing.assert_allclose(found.multipliers, [-0.55229366, 0.16146857], rtol=1e-6)
    np.testing.assert_allclose(found.constraints, [25.0, 40.0], rtol=1e-7)
    np.testing.assert_allclose(found.lower_multipliers[0], 1.08787121, rtol=1e-6)
    np.testing.assert_array_equal(found.jac, task.gradient(found.x))
    check_multipliers(task, found)
    assert 5 <= found.nit <= 12
    assert min(found.nfev, found.njev, found.nhev) >= found.nit


@with_ipopt
def test_multipliers_are_derivatives_of_the_optimum():
    """By the limits: minus the multipliers of the constraints, and those of the limits of variables."""

    def optimum(level, least):
        task = problem(
            lambda x: (x[0] - 3) ** 2 + (x[1] - 1) ** 2 + x[2] ** 2,
            np.zeros(3),
            lambda x: x[0] + x[1],
            [(None, None), (None, None), (least, None)],
            (None, level),
        )
        return task.solve(tol=1e-11)

    found = optimum(2.0, 1.0)
    np.testing.assert_allclose(found.multipliers, 2.0, rtol=1e-6)
    np.testing.assert_allclose(found.lower_multipliers, [0, 0, 2.0], atol=1e-6)
    np.testing.assert_allclose((optimum(2.001, 1.0).fun - found.fun) / 0.001, -2.0, rtol=1e-3)
    np.testing.assert_allclose((optimum(2.0, 1.001).fun - found.fun) / 0.001, 2.0, rtol=1e-3)


@with_ipopt
def test_structures_come_back():
    task = problem(
        lambda p: (p["a"] - 1) ** 2 + tg.sum(p["b"] ** 2),
        {"a": 0.0, "b": np.ones((2, 2))},
        lambda p: {"row": p["b"][0] - 1.0, "sum": p["a"] + tg.sum(p["b"])},
        constraint_bounds=({"row": 0.0, "sum": -9.0}, {"row": 0.0, "sum": 9.0}),
    )
    told = []
    found = task.solve(callback=told.append)
    assert found.x["a"] == pytest.approx(1.0)
    np.testing.assert_allclose(found.x["b"], [[1, 1], [0, 0]], atol=1e-6)
    np.testing.assert_allclose(found.multipliers["row"], -2.0, rtol=1e-6)
    assert found.constraints["sum"] == pytest.approx(3.0)
    assert found.lower_multipliers["b"].shape == found.jac["b"].shape == (2, 2)
    assert [each.nit for each in told] == list(range(found.nit + 1))
    np.testing.assert_allclose(told[-1].x["b"], found.x["b"], atol=1e-6)
    assert told[-1].violation < 1e-6
    assert found._repr_html_()


@with_ipopt
def test_no_constraints_and_fixed_variables():
    free = problem(rosenbrock, np.zeros(6))
    np.testing.assert_allclose(free.solve().x, 1.0, rtol=1e-6)
    fixed = problem(
        rosenbrock, np.zeros(6), lambda x: x[4] ** 2, [(0.5, 0.5), *[(None, 0.9)] * 5], (None, 0.2)
    )
    found = fixed.solve()
    assert found.success
    assert found.x[0] == 0.5
    check_multipliers(fixed, found)
    all_fixed = problem(rosenbrock, np.zeros(6), bounds=[(2, 2)] * 6)
    found = all_fixed.solve()
    np.testing.assert_array_equal(found.x, 2.0)
    check_multipliers(all_fixed, found)


@with_ipopt
def test_what_has_no_solution_has_a_status():
    ball = lambda x: x @ x  # noqa: E731
    far = problem(lambda x: tg.sum((x - 1) ** 2), [0.5, 0.5], ball, constraint_bounds=(-2.0, -1.0))
    found = far.solve()
    assert (found.success, found.status) == (False, 2)
    assert "infeasible" in found.message
    assert found.constr_violation >= 1.0
    crossed = problem(tg.sum, [0.5, 0.5], bounds=[(2, 1), (0, 1)]).solve()
    assert not crossed.success
    assert crossed.constr_violation == 1.5
    many = problem(tg.sum, [0.5, 0.5], lambda x: [x[0], x[1], x[0] + x[1]], constraint_bounds=(1, 1)).solve()
    assert (many.success, many.status) == (False, -10)
    assert "more equality constraints than variables" in many.message
    unbounded = problem(lambda x: -tg.exp(x[0]), [0.0]).solve()
    assert not unbounded.success
    limited = problem(rosenbrock, np.zeros(6)).solve(max_iter=2)
    assert (limited.success, limited.status, limited.nit) == (False, -1, 2)


@with_ipopt
def test_evaluations_that_are_not_finite_are_failures():
    """The search takes shorter steps; where it begins there, it has a status."""
    task = problem(
        lambda x: tg.sum(x - tg.log(x)),
        [0.01, 4.0],
        lambda x: tg.sqrt(x[0]) - x[1],
        constraint_bounds=(None, 0),
    )
    found = task.solve()
    assert found.success
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)
    outside = task.solve(np.array([-1.0, 1.0]))
    assert (outside.success, outside.status) == (False, -13)
    assert np.isnan(outside.fun)
    assert task.solve().success
    derivative = problem(
        lambda x: tg.sum(x**2), [0.0], lambda x: tg.sqrt(x), constraint_bounds=(0, 1)
    ).solve()
    assert derivative.status in (0, -13)


@with_ipopt
@pytest.mark.parametrize("which", ["f", "g"])
def test_errors_of_the_functions_travel_out(which):
    error = LookupError("of the user's own")

    def strange(x):
        if x[0] > 0.5:
            raise error
        return x[0] ** 2 - 3 * x[0]

    f, g = (strange, lambda x: x) if which == "f" else (lambda x: (x[0] - 1) ** 2, strange)
    task = problem(f, [0.0], g, constraint_bounds=(-np.inf, 2.0))
    for _ in range(2):
        with pytest.raises(LookupError) as caught:
            task.solve()
        assert caught.value is error
    assert not task._runs


@with_ipopt
def test_callbacks_stop_the_search_or_raise():
    def after_two(how):
        return lambda result: how() if result.nit >= 2 else None

    def stop():
        raise StopIteration

    def fail():
        raise LookupError("of the callback")

    task = problem(rosenbrock, np.zeros(6))
    for how in (lambda: True, stop):
        found = task.solve(callback=after_two(how))
        assert (found.success, found.status, found.nit) == (False, 5, 2)
        assert found.message == "stopped by the callback"
    with pytest.raises(LookupError, match="of the callback"):
        task.solve(callback=after_two(fail))
    assert task.solve().success


@with_ipopt
def test_options_pass_through(capfd):
    task = hs071()
    assert task.solve(tol=1e-3).nit < task.solve(tol=1e-10).nit
    assert capfd.readouterr().out == ""
    approximate = task.solve(hessian_approximation="limited-memory")
    assert approximate.success
    assert approximate.nhev == 0
    np.testing.assert_allclose(approximate.fun, 17.0140173, rtol=1e-6)
    task.solve(print_level=5, print_user_options=True, max_iter=np.int64(3), tol=np.float64(1e-2))
    assert "Number of nonzeros in Lagrangian Hessian" in capfd.readouterr().out
    assert task.solve(max_iter=3.0, tol=1).nit <= 3  # which type an option has, is Ipopt's matter
    with pytest.raises(ValueError, match="Ipopt has no option nonsense"):
        task.solve(nonsense=1)
    with pytest.raises(ValueError, match="does not take 'odd'"):
        task.solve(mu_strategy="odd")
    with pytest.raises(TypeError, match="options of Ipopt are numbers and text"):
        task.solve(tol=[1.0])


@with_ipopt
def test_progress_is_shown_where_it_is_due():
    class Line:
        due, texts = True, []

        def show(self, text):
            self.texts.append(text)

    task = problem(rosenbrock, np.zeros(6))
    found = task.solve()
    (run,) = task._runs.values()
    run.x[...] = 0.0
    assert run.solve((), None, Line()) == 0
    assert len(Line.texts) == found.nit + 1
    assert Line.texts[0] == "Ipopt: iteration 0, value 5, violation 0"


@with_ipopt
def test_repeated_solves():
    """Cold ones are alike, warm ones take fewer iterations, and nothing is recorded again."""
    task = problem(
        lambda x, target: tg.sum((x - target) ** 4 + x**2),
        np.zeros(6),
        lambda x, target: tg.sum(x**2),
        bounds=[(0, None)] * 6,
        constraint_bounds=(None, 2.0),
        args=(X,),
    )
    cold, recordings = task.solve(), task._functions.hessian._recorded.log
    again, other = task.solve(), task.solve(np.ones(6))
    np.testing.assert_array_equal(again.x, cold.x)
    assert again.nit == cold.nit
    np.testing.assert_allclose(other.x, cold.x, atol=1e-5)
    near = X + 0.01
    moved, warm = task.solve(args=near), task.solve(args=near, warm_start=cold)
    np.testing.assert_allclose(warm.x, moved.x, atol=1e-5)
    assert warm.success
    assert warm.nit < moved.nit
    assert recordings.count == 1
    np.testing.assert_array_equal(task.solve().x, cold.x)  # the arguments were for one solve
    with pytest.raises(ValueError, match=r"but x0 has"):
        task.solve(np.zeros(5))


@with_ipopt
def test_limits_are_written_to():
    task = problem(
        lambda x: tg.sum((x - 3) ** 2), np.zeros(2), lambda x: x[0] + x[1], constraint_bounds=(None, 4)
    )
    np.testing.assert_allclose(task.solve().x, 2.0, rtol=1e-6)
    task.ub[0], task.cu = 0.5, np.array([3.0])
    for _ in range(2):
        found = task.solve()
        np.testing.assert_allclose(found.x, [0.5, 2.5], rtol=1e-6)
        check_multipliers(task, found)
    task.ub[0] = np.inf
    np.testing.assert_allclose(task.solve().x, 1.5, rtol=1e-6)


@with_ipopt
def test_a_new_branch_begins_anew():
    """The search begins where `x[2]` has no part in the constraint, and ends where it has."""
    task = problem(
        lambda x: tg.sum((x - np.array([0.2, 1.0, 3.0])) ** 2),
        [3.0, 1.0, 1.0],
        lambda x: x[0] * x[1] - 1.5 if x[0] > 1 else x[0] * x[2] - 1.5 * x[1],
        constraint_bounds=(None, 0.0),
    )
    assert len(task.jacobianstructure()[0]) == 2
    found = task.solve()
    assert found.success
    assert len(task.jacobianstructure()[0]) == 3
    np.testing.assert_allclose(found.x, [0.2, 1.0, 3.0], atol=1e-5)


@with_ipopt
def test_constraints_of_another_number_raise():
    task = problem(lambda x, a: tg.sum(x**2), X, lambda x, a: a * x[: len(a)], args=np.ones(2))
    assert task.solve().success
    with pytest.raises(ValueError, match="the number of constraints must not change"):
        task.solve(args=np.ones(3))


@with_ipopt
def test_solves_within_solves_and_in_threads():
    task, nested = problem(rosenbrock, np.zeros(6)), []

    def callback(result):
        if result.nit == 1 and not nested:
            nested.append(task.solve())

    assert task.solve(callback=callback).success
    assert nested[0].success
    results = []
    threads = [threading.Thread(target=lambda: results.append(task.solve())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(each.x, results[0].x) for each in results)


@with_ipopt
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise")
@pytest.mark.parametrize("signals", [1, 2])
def test_interrupts(signals, monkeypatch):
    """One ends the search with a status, two raise; the handler is there again."""
    monkeypatch.setattr("tapegrad.optimize.searches.interruption.interrupts._latest", -np.inf)
    monkeypatch.setattr(
        "tapegrad.optimize.searches.interruption._SECOND_S", np.inf
    )  # however busy the machine is
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def callback(result):
        if result.nit == 3:
            for _ in range(signals):
                signal.raise_signal(signal.SIGINT)

    try:
        task = problem(rosenbrock, np.zeros(6))
        if signals == 2:
            with pytest.raises(KeyboardInterrupt):
                task.solve(callback=callback)
        else:
            found = task.solve(callback=callback)
            assert (found.success, found.status) == (False, 99)
            assert found.message.startswith("interrupted")
            assert 3 <= found.nit <= 4
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_no_limit_is_none_in_vectors_and_structures():
    def limits(g, *bounds):
        task = problem(tg.sum, X, g, constraint_bounds=bounds)
        return [task.cl.tolist(), task.cu.tolist()]

    inf = np.inf
    assert limits(lambda x: x[:2], [None, 1.0], (2.0, None)) == [[-inf, 1.0], [2.0, inf]]
    assert limits(lambda x: x[:2], np.array([None, 1.0]), None) == [[-inf, 1.0], [inf, inf]]
    both = {"a": None, "b": 1.0}, {"a": [None, 2.0], "b": None}
    assert limits(lambda x: {"a": x[:2], "b": x[2]}, *both) == [[-inf, -inf, 1.0], [inf, 2.0, inf]]

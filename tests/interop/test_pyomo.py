"""`tg.interop.pyomo`: grey-box models, whose derivatives are compared with complex steps, and a problem."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import GrownStructureError

pyo = pytest.importorskip("pyomo.environ")
grey_box = pytest.importorskip("pyomo.contrib.pynumero.interfaces.external_grey_box")
X = np.array([0.7, 1.3, -0.4, 2.0])


def outputs(x: Any) -> Any:
    return {"flow": np.sin(x[:2]) * x[2], "heat": np.exp(x[3] * x[0])}


def equations(x: Any) -> Any:
    return np.stack([x[0] * x[3] - 1.0, x[1] ** 3 + x[2]])


def flat_outputs(x: Any) -> Any:
    return np.hstack(list(outputs(x).values()))


def by_complex_steps(function: Any, x: np.ndarray) -> np.ndarray:
    """Return the Jacobian of a function of NumPy's."""
    return np.transpose([function(x + 1e-30j * axis).imag / 1e-30 for axis in np.eye(x.size)])


def by_differences(function: Any, x: np.ndarray) -> np.ndarray:
    """Return the Hessian of a number, by central differences of complex steps."""
    gradient = lambda x: by_complex_steps(lambda x: np.stack([function(x)]), x)[0]  # noqa: E731
    return np.stack(
        [(gradient(x + 1e-5 * axis) - gradient(x - 1e-5 * axis)) / 2e-5 for axis in np.eye(x.size)]
    )


def test_callbacks_are_those_by_complex_steps() -> None:
    model = tg.interop.pyomo(outputs, np.ones(4), equations)
    assert model.input_names() == ["x_0", "x_1", "x_2", "x_3"]
    assert model.output_names() == ["flow_0", "flow_1", "heat"]
    assert model.equality_constraint_names() == ["c_0", "c_1"]
    model.set_input_values(X)
    model.set_output_constraint_multipliers(np.array([0.3, -2.0, 1.1]))
    model.set_equality_constraint_multipliers(np.array([0.8, 3.0]))
    np.testing.assert_allclose(model.evaluate_outputs(), flat_outputs(X), rtol=1e-14)
    np.testing.assert_allclose(model.evaluate_equality_constraints(), equations(X), rtol=1e-14)
    found = model.evaluate_jacobian_outputs(), model.evaluate_jacobian_equality_constraints()
    for matrix, function in zip(found, (flat_outputs, equations), strict=True):
        assert matrix.format == "coo"
        np.testing.assert_allclose(matrix.toarray(), by_complex_steps(function, X), rtol=1e-13, atol=1e-15)
    assert [matrix.nnz for matrix in found] == [6, 4]  # of 12 and 8
    for matrix, weighted in (
        (model.evaluate_hessian_outputs(), lambda x: np.array([0.3, -2.0, 1.1]) @ flat_outputs(x)),
        (model.evaluate_hessian_equality_constraints(), lambda x: np.array([0.8, 3.0]) @ equations(x)),
    ):
        assert np.all(matrix.row >= matrix.col)
        np.testing.assert_allclose(matrix.toarray(), np.tril(by_differences(weighted, X)), atol=1e-8)


def test_patterns_do_not_change() -> None:
    model = tg.interop.pyomo(outputs, np.zeros(4))
    patterns = set()
    for x in (np.zeros(4), X, -X):  # at zero some entries are
        model.set_input_values(x)
        for matrix in (model.evaluate_jacobian_outputs(), model.evaluate_hessian_outputs()):
            patterns.add((tuple(matrix.row), tuple(matrix.col)))
    assert len(patterns) == 2


def test_further_arguments_and_equations_alone() -> None:
    model = tg.interop.pyomo(None, {"a": 2.0, "b": 1.0}, lambda p, k: k * p["a"] - p["b"], args=(3.0,))
    assert (model.input_names(), model.n_outputs(), model.n_equality_constraints()) == (["a", "b"], 0, 1)
    np.testing.assert_array_equal(model.evaluate_equality_constraints(), [5.0])
    np.testing.assert_array_equal(model.evaluate_jacobian_equality_constraints().toarray(), [[3.0, -1.0]])
    model.set_equality_constraint_multipliers(np.ones(1))
    assert model.evaluate_hessian_equality_constraints().nnz == 0


def hs71() -> Any:
    """Return problem 71 of Hock and Schittkowski (1981)."""
    return tg.optimize.problem(
        lambda x: x[0] * x[3] * tg.sum(x[:3]) + x[2],
        [1.0, 5.0, 5.0, 1.0],
        lambda x: [tg.prod(x), tg.sum(x**2)],
        bounds=[(1, 5)] * 4,
        constraint_bounds=([25, 40], [np.inf, 40]),
    )


def block_of(model: Any) -> Any:
    pyomo_model = pyo.ConcreteModel()
    pyomo_model.box = grey_box.ExternalGreyBoxBlock()
    pyomo_model.box.set_external_model(model)
    return pyomo_model.box


def test_a_problem_gives_limits_and_values() -> None:
    box = block_of(tg.interop.pyomo(hs71()))
    assert [(v.lb, v.ub, v.value) for v in box.inputs.values()] == [(1, 5, x) for x in (1, 5, 5, 1)]
    assert list(box.outputs) == ["constraints_0", "constraints_1", "objective"]
    limits = [(25, None, 25), (40, 40, 52), (None, None, 16)]
    assert [(v.lb, v.ub, v.value) for v in box.outputs.values()] == limits
    box = block_of(tg.interop.pyomo(outputs, X))
    assert [(v.lb, v.ub) for v in box.inputs.values()] == [(None, None)] * 4
    np.testing.assert_allclose([v.value for v in box.outputs.values()], flat_outputs(X))


@pytest.mark.parametrize(
    "wrap", [tg.jit, lambda f: tg.optimize.objective(f, np.zeros(2))], ids=["jit", "objective"]
)
def test_a_problem_without_constraints(wrap: Any) -> None:
    model = tg.interop.pyomo(tg.optimize.problem(wrap(lambda x: x[0] ** 2 * x[1]), [3.0, 2.0]))
    assert model.output_names() == ["objective"]
    np.testing.assert_array_equal(model.evaluate_outputs(), [18.0])
    np.testing.assert_array_equal(model.evaluate_jacobian_outputs().toarray(), [[12.0, 9.0]])
    model.set_output_constraint_multipliers([2.0])
    np.testing.assert_array_equal(model.evaluate_hessian_outputs().toarray(), [[8.0, 0.0], [12.0, 0.0]])


def test_a_problem_of_a_derivative() -> None:
    model = tg.interop.pyomo(tg.optimize.problem(tg.grad(lambda x: x**3), 2.0))
    np.testing.assert_allclose(model.evaluate_outputs(), [12.0])


def test_a_problem_is_solved() -> None:
    ipyopt = pytest.importorskip("ipyopt")
    from pyomo.contrib.pynumero.interfaces.pyomo_grey_box_nlp import _ExternalGreyBoxAsNLP  # noqa: PLC0415

    box = block_of(tg.interop.pyomo(hs71()))
    nlp = _ExternalGreyBoxAsNLP(box)  # what Pyomo's solvers make of a block
    goal = nlp.primals_names().index(box.outputs["objective"].getname(fully_qualified=True))
    jacobian, hessian = nlp.evaluate_jacobian(), nlp.evaluate_hessian_lag()
    lower = hessian.row >= hessian.col

    def gradient(x: Any, out: Any) -> Any:
        out[:] = np.arange(x.size) == goal
        return out

    def at(method: str, part: str) -> Any:
        def evaluate(x: Any, out: Any) -> Any:
            nlp.set_primals(x)
            out[:] = getattr(getattr(nlp, method)(), part)
            return out

        return evaluate

    def lagrangian(x: Any, multipliers: Any, factor: float, out: Any) -> Any:
        nlp.set_primals(x)
        nlp.set_duals(multipliers)
        out[:] = nlp.evaluate_hessian_lag().data[lower]
        return out

    solver = ipyopt.Problem(
        nlp.n_primals(), nlp.primals_lb(), nlp.primals_ub(),
        nlp.n_constraints(), nlp.constraints_lb(), nlp.constraints_ub(),
        (jacobian.row, jacobian.col), (hessian.row[lower], hessian.col[lower]),
        lambda x: float(x[goal]), gradient, at("evaluate_constraints", "real"), at("evaluate_jacobian", "data"),
        lagrangian,
        ipopt_options={"print_level": 0, "sb": "yes", "tol": 1e-10},
    )  # fmt: skip
    x, value, status = solver.solve(nlp.init_primals())
    assert status == 0
    np.testing.assert_allclose(x[:4], [1.0, 4.7429994, 3.8211503, 1.3794082], atol=1e-6)
    assert value == pytest.approx(17.0140173, abs=1e-6)


def test_failures_of_linear_algebra_are_failed_evaluations() -> None:
    from pyomo.contrib.pynumero.exceptions import PyNumeroEvaluationError  # noqa: PLC0415

    model = tg.interop.pyomo(lambda x: tg.linalg.cholesky(tg.reshape(x, (1, 1))), np.ones(1))
    model.set_input_values([-1.0])
    with pytest.raises(PyNumeroEvaluationError, match="not positive definite"):
        model.evaluate_outputs()


def test_branches_with_other_entries_are_told() -> None:
    model = tg.interop.pyomo(lambda x: x[0] * x[1] if x[0] > 0 else x[0] + x[2], np.ones(3))
    model.set_input_values([-1.0, 1.0, 1.0])
    with pytest.raises(GrownStructureError, match="pass the problem to the solver again"):
        model.evaluate_jacobian_outputs()
    np.testing.assert_array_equal(model.evaluate_jacobian_outputs().toarray(), [[1, 0, 1]])


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="takes outputs or equations, and x0"):
        tg.interop.pyomo(None, X)
    with pytest.raises(TypeError, match="takes outputs or equations, and x0"):
        tg.interop.pyomo(outputs)
    with pytest.raises(TypeError, match="a problem has its own x0"):
        tg.interop.pyomo(hs71(), X)
    with pytest.raises(ValueError, match="x_0, x_0 are names of several numbers"):
        tg.interop.pyomo(lambda p: p["x_0"], {"x": np.ones(1), "x_0": 2.0}).input_names()
    with pytest.raises(TypeError, match=r"inputs are real: pass z\.view\(float\)"):
        tg.interop.pyomo(lambda z: abs(z), np.ones(1, complex))

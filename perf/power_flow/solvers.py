"""Solvers of a power flow: what each prepares, its callbacks at a point, and its solve. All are Ipopt with MUMPS."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse
from scipy.optimize import Bounds

from perf.peers import load, tapegrad
from perf.power_flow.model import PowerFlow
from perf.workloads import Answer
from tapegrad.testing.timer import Contender

CALLBACKS = ("objective", "gradient", "constraints", "jacobian", "hessian")


@dataclass(frozen=True)
class Point:
    """Point of evaluation, and directions along which derivatives are compared."""

    x: np.ndarray
    multipliers: np.ndarray
    direction: np.ndarray
    other: np.ndarray


@dataclass(frozen=True)
class Solver:
    """Solver that is ready for a problem.

    Attributes
    ----------
    callbacks
        Returns the contenders at a point, in the order of `CALLBACKS`; `None` if its problem has other variables.
    solve
        Returns the least cost, and how many iterations it took.
    """

    callbacks: Callable[[Point], list[Contender]] | None
    solve: Callable[[], tuple[float, int]]


def _reads(point: Point, jacobian: Any, hessian: Any) -> list[Callable[[Any], Answer]]:
    """Return what reads the result of each callback: of entries, given rows and columns, a product with a vector."""
    m, n = len(point.multipliers), len(point.x)

    def plain(found: Any) -> Answer:
        return (np.array(found).squeeze(),)

    def by_entries(entries: Any) -> Answer:
        return (scipy.sparse.csr_array((entries, jacobian), (m, n)) @ point.direction,)

    def by_triangle(entries: Any) -> Answer:
        found = scipy.sparse.csr_array((entries, hessian), (n, n))
        return ((found + found.T) @ point.direction - found.diagonal() * point.direction,)

    return [plain, plain, plain, by_entries, by_triangle]


# --- tapegrad --------------------------------------------------------------------------------------------------


def by_tapegrad(flow: PowerFlow) -> Solver:
    """Prepare tapegrad: all five functions are recorded."""
    tg = tapegrad()
    limits = Bounds(*flow.bounds), tuple(flow.constraint_bounds)
    problem = tg.optimize.problem(flow.objective, flow.start, flow.constraints, *limits)
    problem.objective(flow.start), problem.gradient(flow.start), problem.constraints(flow.start)
    jacobian, hessian = problem.jacobianstructure(), problem.hessianstructure()

    def callbacks(point: Point) -> list[Contender]:
        calls = [partial(getattr(problem, name), point.x) for name in CALLBACKS[:-1]]
        calls.append(partial(problem.hessian, point.x, point.multipliers, 1.0))
        reads = _reads(point, jacobian, hessian)
        return [Contender("tapegrad", *each) for each in zip(calls, reads, strict=True)]

    def solve() -> tuple[float, int]:
        found = problem.solve(progress=False, linear_solver="mumps")
        if not found.success:
            raise RuntimeError(f"tapegrad: {found.message}")
        return float(found.fun), int(found.nit)

    return Solver(callbacks, solve)


# --- CasADi ----------------------------------------------------------------------------------------------------


def sums(buses: np.ndarray, count: int) -> scipy.sparse.csc_matrix:
    """Return the matrix whose product with a vector is `numpy.bincount` of it."""
    places = buses, np.arange(len(buses))
    return scipy.sparse.csc_matrix((np.ones(len(buses)), places), (count, len(buses)))


def by_casadi(kind: str, flow: PowerFlow) -> Solver:
    """Prepare CasADi, by its expressions of scalars (SX) or of matrices (MX)."""
    casadi, label = load("casadi"), f"CasADi {kind}"
    names = SimpleNamespace(
        sin=casadi.sin, cos=casadi.cos, sum=casadi.sum1, concatenate=lambda parts: casadi.vertcat(*parts),
        bincount=lambda buses, values, count: casadi.mtimes(casadi.DM(sums(buses, count)), values),
    )  # fmt: skip
    x = getattr(casadi, kind).sym("x", len(flow.start))
    functions = {"x": x, "f": flow.objective(x, names), "g": flow.constraints(x, names)}
    ipopt = {"print_level": 0, "sb": "yes", "linear_solver": "mumps"}
    solver = casadi.nlpsol("solver", "ipopt", functions, {"ipopt": ipopt, "print_time": False})

    def callbacks(point: Point) -> list[Contender]:
        names = ("nlp_f", "nlp_grad_f", "nlp_g", "nlp_jac_g", "nlp_hess_l")
        made = [solver.get_function(name) for name in names]
        last = [each.sparsity_out(each.n_out() - 1) for each in made[3:]]
        reads = _reads(point, *((each.row(), each.get_col()) for each in last))
        inputs = point.x, np.zeros(0), np.ones(1), point.multipliers
        return [_callback(label, *each, inputs) for each in zip(made, reads, strict=True)]

    def solve() -> tuple[float, int]:
        limits = dict(zip(("lbx", "ubx", "lbg", "ubg"), (*flow.bounds, *flow.constraint_bounds), strict=True))
        found, stats = solver(x0=flow.start, **limits), solver.stats()
        if not stats["success"]:
            raise RuntimeError(f"{label}: {stats['return_status']}")
        return float(found["f"]), int(stats["iter_count"])

    return Solver(callbacks, solve)


def _callback(label: str, function: Any, read: Callable[[Any], Answer], inputs: Any) -> Contender:
    """Return the evaluation of a function in given buffers, whose last result is its answer."""
    buffer, evaluate = function.buffer()
    results = [np.zeros(function.nnz_out(k)) for k in range(function.n_out())]
    for bind, arrays in ((buffer.set_arg, inputs[: function.n_in()]), (buffer.set_res, results)):
        for k, each in enumerate(arrays):
            bind(k, memoryview(each.data))

    def answer(_: Any, alive: Any = (function, buffer, inputs)) -> Answer:  # `evaluate` holds bare addresses
        return read(results[-1].copy())

    return Contender(label, evaluate, answer)


# --- CVXPY -----------------------------------------------------------------------------------------------------

# In the place of CVXPY's own defaults those of Ipopt, which the others have.
_OPTIONS = {"mu_strategy": "monotone", "tol": 1e-8, "bound_relax_factor": 1e-8, "print_level": 0, "sb": "yes"}


def by_cvxpy(flow: PowerFlow) -> Solver:
    """Prepare CVXPY, whose problem has variables of its own for what is not smooth or nested."""
    cvxpy, chains = load("cvxpy"), load("cvxpy.reductions.solvers.nlp_solving_chain")
    solvers, _ = load("cvxpy.reductions.solvers.nlp_solvers.nlp_solver"), load("cyipopt")
    names = SimpleNamespace(
        sin=cvxpy.nlp.sin, cos=cvxpy.nlp.cos, sum=cvxpy.sum, concatenate=cvxpy.hstack,
        bincount=lambda buses, values, count: sums(buses, count) @ values,
    )  # fmt: skip
    x = cvxpy.Variable(len(flow.start), bounds=list(flow.bounds))
    x.value = flow.start
    both = cvxpy.multiply  # a product of its vectors by `*` is one of matrices
    by_elements: Any = {"__mul__": lambda a, b: both(a, b), "__rmul__": lambda a, b: both(b, a)}
    with mock.patch.multiple(cvxpy.Expression, **by_elements):
        cost, values = flow.objective(x, names), flow.constraints(x, names)
    least, most = flow.constraint_bounds
    equal = least == most
    above, below = ~equal & np.isfinite(most), ~equal & np.isfinite(least)
    limits = [values[equal] == least[equal], values[above] <= most[above], values[below] >= least[below]]
    problem = cvxpy.Problem(cvxpy.Minimize(cost), limits)
    chain, _ = chains._build_nlp_chain(problem, "IPOPT", {})
    data, inverse = chain.apply(problem)
    oracles = solvers.Oracles(data["_bounds"].new_problem, verbose=False)

    def solve() -> tuple[float, int]:
        oracles.intermediate = mock.Mock(return_value=True)  # one call an iteration, and one before all
        found = chain.solver.solve_via_data(data, False, False, _OPTIONS, {"oracles": oracles})
        if found["status"] not in (0, 1):
            raise RuntimeError(f"CVXPY: {found['status_msg']}")
        return float(found["obj_val"] + inverse[-1].offset), oracles.intermediate.call_count - 1

    return Solver(None, solve)


SOLVERS: dict[str, Callable[[PowerFlow], Solver]] = {
    "tapegrad": by_tapegrad,
    "CasADi SX": partial(by_casadi, "SX"),
    "CasADi MX": partial(by_casadi, "MX"),
    "CVXPY": by_cvxpy,
}

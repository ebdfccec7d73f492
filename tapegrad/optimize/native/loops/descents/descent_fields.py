"""Fields of minimisations for compiled code: addresses, counts and settings."""

from typing import NamedTuple


class DescentFields(NamedTuple):
    """Record of minimisations: numbers, addresses and options.

    Attributes
    ----------
    k
        Parameters.
    session, products
        Evaluates value and gradient at `trial` to `trial_value` and `trial_gradient`; products of the Hessian at `x`
        with `conjugate` to `product`, for Newton's method.
    memory
        Number of stored pairs of a step and its change of the gradient.
    x, gradient, trial, trial_value, trial_gradient, direction, lower, upper, product, conjugate, residual
        By parameter, but for the value.
    steps, changes, curvatures, weights
        The pairs, `memory` times `k` numbers each; by pair what both multiply to, and a number each for the recursion.
    counts, settings
        Integers and numbers, by the constants of this module.
    starts, out_x, out_value, out_gradient, out_status, out_evaluations, out_iterations, out_products
        Where minimisations begin, and their results, by their number.
    bounded, strong
        Options: whether there are bounds; whether the line search asks for the strong condition of Wolfe.
    """

    k: int
    session: int
    products: int
    memory: int
    x: int
    gradient: int
    trial: int
    trial_value: int
    trial_gradient: int
    direction: int
    lower: int
    upper: int
    product: int
    conjugate: int
    residual: int
    steps: int
    changes: int
    curvatures: int
    weights: int
    counts: int
    settings: int
    starts: int
    out_x: int
    out_value: int
    out_gradient: int
    out_status: int
    out_evaluations: int
    out_iterations: int
    out_products: int
    bounded: int
    strong: int


# counts
PHASE, STATUS, NFEV, NIT, NHEV, MAX_NFEV, MAX_NIT, MAX_SEARCH, SEARCHED, STORED, NEWEST, NEXT, END = range(13)
# settings
VALUE, FTOL, GTOL, LENGTH, SHORTEST, LONGEST, SLOPE, RADIUS, MAX_RADIUS, PREDICTED = range(10)

FINISHED, STARTING, CHOOSING, TRYING = range(4)  # phases; the first one is also that before all others

# How a minimisation ended, as SciPy's L-BFGS-B numbers it, with more detail.
BY_FTOL, BY_GTOL, LIMIT, NO_PROGRESS, NOT_FINITE, NOT_COMPUTED = range(6)

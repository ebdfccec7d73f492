"""Fields of a fit by Levenberg and Marquardt for compiled code: addresses, counts and settings."""

from typing import NamedTuple


class FitFields(NamedTuple):
    """Record of one fit: numbers, addresses and options.

    Attributes
    ----------
    n, k
        Residuals, and parameters.
    session
        Evaluates the residuals at `trial` to `values`, and their derivatives.
    rows
        Address of a Jacobian that is evaluated row by row, 0 where its columns are in the session.
    x, trial, values
        The parameters, those that are tried, and the residuals at these.
    r, columns
        Residuals and the columns of their Jacobian at `x`, both rescaled for a robust loss.
    factors
        For the rows of the Jacobian, of a robust loss.
    work
        Columns that are factored, `k` times `n` numbers.
    along
        Change of the residuals along the step, and the right-hand side of the factored problem, `n` numbers each.
    gradient, scale, lower, upper, step
        By parameter.
    addresses, free
        Of the columns in `work`, and which parameters these belong to.
    norms, right, damped_right, row, scratch
        `k` numbers each.
    triangle, damped
        `k` times `k` numbers.
    covariance
        The result, `k` times `k` numbers.
    counts, settings
        Integers and numbers, by the constants of this module.
    loss, scaled, normal, geodesic, bounded
        Options.
    """

    n: int
    k: int
    session: int
    rows: int
    x: int
    trial: int
    values: int
    r: int
    columns: int
    factors: int
    work: int
    along: int
    right_side: int
    gradient: int
    scale: int
    lower: int
    upper: int
    step: int
    addresses: int
    free: int
    norms: int
    right: int
    damped_right: int
    row: int
    scratch: int
    triangle: int
    damped: int
    covariance: int
    counts: int
    settings: int
    loss: int
    scaled: int
    normal: int
    geodesic: int
    bounded: int


MAX_NFEV, PHASE, STATUS, NFEV, NJEV, FACTORED = range(6)  # counts; batches have the first one, too
FTOL, XTOL, GTOL, F_SCALE, COST, RADIUS, DAMPING, OPTIMALITY, PREDICTED = range(
    9
)  # settings; batches: to F_SCALE

STARTING, TRYING, PROPOSED, FINISHED = range(4)  # phases

# How a fit ended, as SciPy numbers it; the negative ones from -3 on are ours.
TOO_MANY_EVALUATIONS, BY_GTOL, BY_FTOL, BY_XTOL, BY_BOTH = range(5)
NOT_FINITE, NOT_COMPUTED = -3, -4
GOES_ON = -1

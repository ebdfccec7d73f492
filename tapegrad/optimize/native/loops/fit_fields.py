"""Records of fits for compiled code: numbers, addresses of arrays of float64, options; settings, and how fits end.

Many fits are worked on some at a time, each in a *lane*: every array has the lanes as its last dimension. A problem
that has converged gives its lane to the next one of the queue.
"""

from typing import NamedTuple


class FitFields(NamedTuple):
    """Record of one fit: of `n` residuals by `k` parameters."""

    n: int
    k: int
    session: int  # evaluates the residuals at `trial` to `values`, and their derivatives
    rows: int  # (n, k), of a Jacobian that is evaluated row by row; 0 where its columns are in the session
    x: int
    trial: int
    values: int
    r: int  # residuals at `x`, rescaled for a robust loss, as are the columns
    columns: int  # (k, n), of the Jacobian at `x`
    factors: int  # (n,), for the rows of the Jacobian, of a robust loss
    curvatures: int  # (n,), of a robust loss at the residuals at `x`, as parts of its slopes
    work: int  # (k, n), columns that are factored
    along: int  # (n,), change of the residuals along the step
    right_side: int  # (n,), of the factored problem
    gradient: int
    scale: int  # one over the scales of the parameters
    lower: int
    upper: int
    step: int
    addresses: int  # of the columns in `work`
    free: int  # (k,) integers: which parameters these belong to
    norms: int
    right: int  # (k,), of the triangle
    damped_right: int
    row: int
    scratch: int  # (k,), of the radius; the step, where it is assessed or bent
    triangle: int  # (k, k)
    damped: int
    covariance: int  # (k, k), of the result
    counts: int  # integers, by the constants of `driver` and of this module
    settings: int  # by the constants of this module
    loss: int
    scaled: int  # whether the Jacobian gives the scales
    normal: int  # whether normal equations replace the QR decomposition
    geodesic: int  # whether steps are bent
    bounded: int


class BatchFields(NamedTuple):
    """Record of many fits of one model: of `n` points by `k` parameters, `lanes` at a time."""

    n: int
    k: int
    lanes: int
    session: int  # evaluates one lane: the only one, or at `alone` one of several, to find errors; 0 until it is needed
    workspace: (
        int  # of a program over lanes, which evaluates the model at `trial` to `values`; 0 for one lane
    )
    specialization: int  # of this program
    alone: int  # (k,), parameters of one lane
    alone_values: int  # (n,), the model there
    example: int  # (k,), parameters at which the model is known to have no error
    rows: int  # (n, k), of a Jacobian that is evaluated row by row, of one lane; 0 where its columns are in the session
    trial: int
    values: int
    data: int
    weights: int  # (n, lanes); 0 where all are one
    slopes: int  # (n, lanes): what the gradient is the product of with the derivatives
    squares: int  # (n, lanes): weights of the products of derivatives
    excesses: int  # (n, lanes): by how much they are less than by the slopes of a robust loss
    columns: int  # (k, n), of a Jacobian that is evaluated row by row
    column_addresses: int
    x: int
    gradient: int
    step: int
    scale: int
    tried_gradient: int
    matrix: int  # (k * (k + 1) / 2, lanes), lower triangles by rows
    tried_matrix: int
    excess: int  # as `matrix`, with the weights `excesses`
    tried_excess: int
    factor: int
    cost: int
    tried_cost: int
    damping: int
    check: int  # (lanes,), finite where gradient and matrix of the trial are
    states: int  # (lanes,) integers, as are the next ones
    problems: int
    evaluations: int
    points: int  # how many have a weight
    failed: int  # whether the model has an error at the trial
    lower: int
    upper: int
    square: int  # (k, k), of one lane
    inverse: int
    lengths: int  # (k,)
    accepted: int  # (lanes,), 1 where the trial is accepted
    outcomes: int  # (lanes,) integers: the status with which the fit ends, or GOES_ON
    all_data: int  # by problem
    all_weights: int
    all_starts: int
    out_x: int
    out_covariance: int
    out_cost: int
    out_status: int
    out_evaluations: int
    counts: int  # integers, by the constants of `driver` and of this module
    settings: int  # by the constants of this module
    loss: int
    absolute: int  # whether weights are absolute
    bounded: int
    weights_step: int  # bytes from the weights of a problem to those of the next, 0 where all share them


STATUS, FACTORED = range(
    4, 6
)  # counts of a fit, after those of all runs; FACTORED is the rank and one, 0 before
NEXT, END, ACTIVE, DRAIN, PROPOSED = range(2, 7)  # counts of a batch, after BUDGET
# settings; batches: to F_SCALE. SHARE: of the excess of slopes over curvatures, in residuals and columns at `x`
FTOL, XTOL, GTOL, F_SCALE, COST, RADIUS, DAMPING, OPTIMALITY, PREDICTED, SHARE = range(10)

EMPTY, FRESH, GOING = range(3)  # states of a lane

# How a fit ended, as SciPy numbers it; the negative ones from -2 on are ours.
TOO_MANY_EVALUATIONS, BY_GTOL, BY_FTOL, BY_XTOL, BY_BOTH = range(5)
INTERRUPTED, NOT_FINITE, NOT_COMPUTED, NO_POINTS = -2, -3, -4, -5
GOES_ON = -1
NOT_IN_LANES = -9  # a fit that is to be done by itself: it takes another branch
NEEDS_SESSION = -1  # status of the loop if a lane has an error and there is no session to find it with

"""Fields of many fits of one model for compiled code: addresses, counts and settings.

Several problems are worked on at once, each in a *lane*: every array has the lanes as its last dimension. A problem
that has converged gives its lane to the next one of the queue.
"""

from typing import NamedTuple


class BatchFields(NamedTuple):
    """Record of many fits: numbers, addresses and options.

    Attributes
    ----------
    n, k, lanes
        Points, parameters, and problems at a time.
    session
        Evaluates the model at `trial` to `values`, and its derivatives, for one lane. Where there are several, it is
        asked which of them have errors, at `alone`; 0 until that is needed.
    workspace, specialization
        The same for several lanes: of a program over lanes, 0 where there is one lane; the number of its
        specialization.
    alone, alone_values, example
        Parameters of one lane, and the model there; parameters at which it is known to have no error.
    rows
        Address of a Jacobian that is evaluated row by row, of one lane; 0 where its columns are in the session.
    trial, values, data, weights
        By parameter and lane; by point and lane. `weights` is 0 where all are one.
    slopes, squares
        By point and lane: what the gradient is the product of with the derivatives, and weights of these.
    columns
        Memory for the columns of a Jacobian that is evaluated row by row, of one lane.
    column_addresses
        Addresses of the columns.
    x, gradient, step, scale, tried_gradient
        By parameter and lane.
    matrix, tried_matrix, factor
        By parameter, parameter before it or itself, and lane.
    cost, tried_cost, damping, check
        By lane.
    states, problems, evaluations, points, failed
        By lane, integers: the states are those of this module; how many points have a weight; whether the model has an
        error at the trial.
    lower, upper
        By parameter.
    square, inverse, lengths
        Matrices of one lane; a number by parameter.
    accepted, outcomes
        By lane: 1 where the trial is accepted; the status with which the fit ends, or GOES_ON.
    all_data, all_weights, all_starts
        By problem. The step from one problem's weights to the next may be zero.
    out_x, out_covariance, out_cost, out_status, out_evaluations
        The results by problem.
    counts, settings
        Integers and numbers, by the constants of this module and of `fit_fields`.
    loss, absolute, bounded, weights_step
        Options; bytes from the weights of a problem to those of the next.
    """

    n: int
    k: int
    lanes: int
    session: int
    workspace: int
    specialization: int
    alone: int
    alone_values: int
    example: int
    rows: int
    trial: int
    values: int
    data: int
    weights: int
    slopes: int
    squares: int
    columns: int
    column_addresses: int
    x: int
    gradient: int
    step: int
    scale: int
    tried_gradient: int
    matrix: int
    tried_matrix: int
    factor: int
    cost: int
    tried_cost: int
    damping: int
    check: int
    states: int
    problems: int
    evaluations: int
    points: int
    failed: int
    lower: int
    upper: int
    square: int
    inverse: int
    lengths: int
    accepted: int
    outcomes: int
    all_data: int
    all_weights: int
    all_starts: int
    out_x: int
    out_covariance: int
    out_cost: int
    out_status: int
    out_evaluations: int
    counts: int
    settings: int
    loss: int
    absolute: int
    bounded: int
    weights_step: int


NEXT, END, ACTIVE, DRAIN, PROPOSED = range(1, 6)  # counts, after MAX_NFEV

EMPTY, FRESH, GOING = range(3)  # states of a lane

NOT_IN_LANES = -9  # status of a fit that is to be done by itself: it takes another branch
NEEDS_SESSION = -1  # status of the loop if a lane has an error and there is no session to find it with

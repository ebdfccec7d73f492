"""`solve_ivp`: initial value problems of ordinary differential equations."""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.conversions.complex_views import is_complex
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.integrate.arguments import (
    SlopeFunction,
    evaluation_times,
    initial_state,
    interval,
    is_recording,
    numbers,
    plain,
    step_sizes,
    tolerances,
)
from tapegrad.integrate.dense import OdeSolution
from tapegrad.integrate.events import Events, FoundEvents, ending_events, find_events
from tapegrad.integrate.method import EXPLICIT, AcceptedStep, StepMethod, like
from tapegrad.integrate.outputs import outputs, reached
from tapegrad.integrate.radau import Radau, RadauIntegration
from tapegrad.integrate.result import OdeResult, result_of
from tapegrad.integrate.rosenbrock import Rodas5P
from tapegrad.integrate.steps import Integration, State
from tapegrad.integrate.systems import jacobian_of
from tapegrad.loops.scan import scanned
from tapegrad.transforms.stop_gradient import stop_gradient

_METHODS: dict[str, StepMethod] = {**EXPLICIT, "Radau": Radau(), "Rodas5P": Rodas5P()}


@hides_frames
def solve_ivp(  # noqa: PLR0913  SciPy's arguments
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    *,
    rtol: Any = 1e-3,
    atol: Any = 1e-6,
    max_step: float = np.inf,
    first_step: float | None = None,
    max_steps: int | None = None,
    jac_sparsity: Any = None,
) -> OdeResult:
    """Solve ``dy/dt = fun(t, y, *args)`` with ``y(t0) = y0``, as `scipy.integrate.solve_ivp` does, with derivatives.

    Parameters
    ----------
    fun : callable
        Takes time, state, and `args`; returns the slope: an array like `y0`, or a list of numbers. Plain NumPy code,
        recorded once. Tensors that it takes from around are differentiated by like `args`.
    t_span : pair of float or Tensor
        Begin and end; the end may be the earlier one.
    y0 : array_like or Tensor, shape (n,)
        The state at the begin, real or complex. Of float32 all states are float32. Complex states are for explicit
        methods.
    method : {"RK45", "RK23", "DOP853", "Radau", "Rodas5P", "RK4"}, default "RK45"
        Explicit methods of order 5, 3 and 8, as in SciPy; for stiff problems Radau's of order 5, as in SciPy, and a
        Rosenbrock method of order 5 [2]_, whose steps take less time; and the classical one of order 4 with equal
        steps, the longest that are not longer than `max_step`.
    t_eval : array_like or Tensor, shape (m,), optional
        Times of the results, within `t_span` and in its order. By default the ends of all steps; inside of functions
        that are recorded their number is not known, and `t_eval` must be given. The integration ends with the step
        that reaches the last of them.
    dense_output : bool, default False
        Whether the result has `sol`, the solution as a function of time. Not inside of functions that are recorded.
    events : callable or sequence of callables, optional
        Functions of time, state and `args` that return a number; an event is where it changes its sign. The attributes
        `terminal`, a boolean or the number of the occurrence that ends the integration, and `direction`, the sign of
        the change that counts, are as in SciPy. Inside of functions that are recorded all must be terminal.
    vectorized : bool, default False
        Whether `fun` takes states as columns.
    args : tuple, optional
        Further arguments of `fun`: Tensors, arrays, numbers and structures of them.
    rtol, atol : float or array_like, shape (n,)
        Tolerances: the estimated error of a step is at most ``atol + rtol * abs(y)``.
    max_step, first_step : float, optional
        Bound of the sizes of steps, and size of the first one.
    max_steps : int, optional
        How many steps are made at most. A sampler or an optimiser tries parameters for which a solution takes millions
        of them: with a bound it is nan there, and the point is refused. By default there is none.
    jac_sparsity : array_like or sparse matrix, shape (n, n), or False, optional
        Where the Jacobian of `fun` by the state may be other than zero, for methods for stiff problems. By default it
        is detected for 32 states or more; `False` takes a dense matrix.

    Returns
    -------
    OdeResult
        A dict with its items as attributes: `t`, of shape (m,); `y`, of shape (n, m); `t_events` and `y_events`, for
        each event times and states; `nfev`, evaluations of `fun`; `status`, 0, 1 after an event that ends the
        integration, -1 if the step became too small, or -2 after `max_steps`; `success`; outside of recordings also
        `message`, `sol`, `njev` and `nlu`. Where nothing is differentiated they are arrays and numbers. Of an
        integration that has failed, `t` and `y` have what was reached; inside of recordings, where their shapes are
        fixed, the rest is nan.

    Raises
    ------
    UnsupportedError
        For other methods, complex states of methods for stiff problems, and inside of recordings without `t_eval`.
    ValueError
        For arguments of wrong shapes, and times that are not within `t_span` or not in order.
    UnreachedOutputError
        In derivatives, if they are by outputs that were not reached; over `vmap` these are nan instead. Forward mode is
        by all outputs.

    See Also
    --------
    odeint : The same with the arguments of `scipy.integrate.odeint`.
    tapegrad.while_loop : The loop that it is.

    Notes
    -----
    Steps and results are those of SciPy up to rounding. The loop over steps is one instruction: it differentiates in
    both modes by `y0`, `args`, `t_span` and `t_eval`, over `vmap` each instance with steps of its own, and is part of
    what `jit` and `compile` make. Outside of those each call records `fun` anew.

    Derivatives are the discrete adjoint [1]_: of the numbers that were computed, with the sizes of all steps held
    constant. They have the accuracy of the solution, and differ from differences of solutions with other steps by as
    much as the tolerance. For second derivatives pass Tensors that `fun` indexes by `args`.

    The methods for stiff problems take the Jacobian from derivatives of `fun`. If it is sparse, as of an equation in
    space, its entries take a few sweeps, and systems are solved by its band: states are numbered so that it is narrow
    (Cuthill and McKee), and where it is not, the matrix is dense. Steps of Rodas5P are differentiated as
    they are, the Jacobian included; the stages of Radau's method and the times of events by the implicit function
    theorem, which is exact where the equations that they solve are: up to what Newton's iteration has left, a small
    part of the tolerance. Where a solution jumps, the step there does not move with it in the derivative, which then
    needs a smaller tolerance than the solution, of Rodas5P above all.

    References
    ----------
    .. [1] A. Sandu, "On the properties of Runge-Kutta discrete adjoints", ICCS 2006, LNCS 3994.
    .. [2] G. Steinebach, "Construction of Rosenbrock-Wanner method Rodas5P and numerical benchmarks within the Julia
       Differential Equations package", BIT Numerical Mathematics 63:27, 2023.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> def decay(t, y, rate):
    ...     return -rate * y
    >>> def left(rate):
    ...     found = tg.integrate.solve_ivp(decay, (0, 2), [1.0], t_eval=[2.0], args=(rate,), rtol=1e-8, atol=1e-8)
    ...     return found.y[0, 0]
    >>> value, slope = tg.value_and_grad(tg.jit(left))(0.5)
    >>> np.round([value, slope, np.exp(-1), -2 * np.exp(-1)], 6)
    array([ 0.367879, -0.735759,  0.367879, -0.735759])

    The time of a fall, and its derivative by gravity:

    >>> def fall(t, y, gravity):
    ...     return [y[1], -gravity]
    >>> def ground(t, y, gravity):
    ...     return y[0]
    >>> ground.terminal = True
    >>> def time(gravity):
    ...     return tg.integrate.solve_ivp(fall, (0, 9), [20.0, 0.0], events=ground, args=(gravity,)).t_events[0][0]
    >>> np.round(tg.value_and_grad(time)(9.81), 6), np.round([np.sqrt(40 / 9.81), -np.sqrt(10) / 9.81**1.5], 6)
    (array([ 2.019275, -0.102919]), array([ 2.019275, -0.102919]))
    """
    integration, t_eval = integration_of(
        fun, t_span, y0, method, t_eval, args, rtol, atol, vectorized, events, max_step, first_step,
        jac_sparsity=jac_sparsity, max_steps=max_steps,
    )  # fmt: skip
    if is_recording():
        if dense_output or t_eval is None:
            raise UnsupportedError(
                "solve_ivp: inside of a function that is recorded the number of steps is not known; give t_eval, as in"
                " t_eval=[t1] for the end, and no dense_output"
            )
        return _recorded(integration, t_eval)
    if t_eval is not None and not dense_output and events is None:
        return _at_times(integration, t_eval, None)
    steps = _Steps(integration)
    found = steps.find_events()
    result = _at_steps(steps, found) if t_eval is None else _at_times(integration, t_eval, found)
    if dense_output:
        further = integration.method.further_evaluations
        result["sol"] = steps.solution(found)
        result["nfev"] = int(numbers(steps.last.evaluations + further * steps.last.accepted))
    return result


def integration_of(  # noqa: PLR0913  SciPy's arguments
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: str,
    t_eval: Any,
    args: Any,
    rtol: Any,
    atol: Any,
    vectorized: bool = False,
    events: Any = None,
    max_step: float = np.inf,
    first_step: float | None = None,
    may_repeat: bool = False,
    jac_sparsity: Any = None,
    max_steps: int | None = None,
) -> tuple[Integration, Any]:
    """Return the integration for the arguments of `solve_ivp`, and the times of the results; raise if any is wrong.

    `may_repeat` says whether times may be equal to the one before.
    """
    solver = _method(method)
    y0 = initial_state("solve_ivp", y0)
    if is_complex(y0) and solver.implicit:
        raise UnsupportedError(
            f"solve_ivp: method={method!r} takes real states; for complex ones write method='RK45' or 'DOP853', or"
            " solve for y.view(float)"
        )
    begin, end, direction = interval(t_span)
    if t_eval is not None:
        t_eval = evaluation_times(t_eval, begin, end, direction, may_repeat)
    step_sizes(max_step, first_step, begin, end, solver.fixed)
    most = math.inf if max_steps is None else operator.index(max_steps)
    if most < 1:
        raise ValueError(f"solve_ivp: max_steps={max_steps} must be positive")
    times_vary = any(map(is_tensor, (begin, end, t_eval)))
    slope = SlopeFunction("solve_ivp", fun, args, vectorized, y0)
    if solver.implicit:
        slope.jacobian = jacobian_of(slope, begin, y0, jac_sparsity)
    integration = (RadauIntegration if method == "Radau" else Integration)(
        solver, slope, begin, end, direction, y0,
        *tolerances(rtol, atol, y0), max_step, first_step, most, times_vary,
        None if events is None else Events(events, args),
    )  # fmt: skip
    return integration, t_eval


def _recorded(integration: Integration, t_eval: Any) -> OdeResult:
    """Return the solution at given times inside of recordings, where the shapes of all results are known."""
    last, ys = outputs(integration, t_eval)
    found = None
    if integration.events is not None:
        last = integration.run(last, lambda state: 1.0)  # an event may come after the last time
        found = ending_events(
            integration.events, integration.method, integration.fun, last.step, last.status, last.watch
        )
        assert found.end is not None
        late = integration.direction * (stop_gradient(t_eval) - found.end[0]) > 0
        ys = ys * like(np.where(late, np.nan, 1.0), ys)[:, None]
    ys = reached(t_eval, ys, last)
    return result_of(t_eval, ys.T, integration, last, found)


def _at_times(integration: Integration, t_eval: Any, found: FoundEvents | None) -> OdeResult:
    """Return the solution at given times."""
    last, ys = outputs(integration, t_eval)
    end = last.t if found is None or found.end is None else found.end[0]
    reached = numbers(integration.direction * (numbers(end) - numbers(t_eval)) >= 0)
    if not reached.all():
        count = int(np.sum(reached))
        t_eval, ys = t_eval[:count], ys[:count]
    if found is not None:
        last = integration.run(last, lambda state: 1.0)
    return result_of(t_eval, ys.T, integration, last, found)


class _Steps:
    """Steps of an integration outside of recordings, where their number is known after a run."""

    def __init__(self, integration: Integration) -> None:
        self.integration, first = integration, integration.first()
        self.last = integration.run(first, lambda state: 1.0)
        self._count = int(numbers(self.last.accepted))
        self.first = first

        def advance(state: State, number: Any) -> Any:
            state = integration.run(state, lambda state: number - state.accepted)
            step = state.step
            return state, (state.t, state.y, step.t, step.h, step.y, step.memory)

        self.ends = scanned(advance, first, np.arange(1.0, self._count + 1), pulled_at_once=True)[1]

    def find_events(self) -> FoundEvents | None:
        """Find the events of all steps."""
        integration, (ends, ys, t, h, y, memory) = self.integration, map(_plain_parts, self.ends)
        if integration.events is None:
            return None
        times = np.append(numbers(self.first.t), numbers(ends))
        steps = AcceptedStep(t, h, y, ys, memory)
        return find_events(
            integration.events, integration.method, integration.fun, steps, times, self.first.watch
        )

    def solution(self, found: FoundEvents | None) -> OdeSolution:
        """Return the solution as a function of time."""
        integration, (ends, ys, t, h, y, memory) = self.integration, map(_plain_parts, self.ends)
        times = np.append(numbers(self.first.t), numbers(ends))
        if not self._count:  # of an interval of no length
            first = self.first
            t, h, y, ys = (np.stack([part]) for part in (first.t_old, first.h, first.y_old, first.y))
            memory = tuple(np.stack([part]) for part in first.memory)
            times = np.append(times, times)
        if found is not None and found.end is not None:
            times[-1] = float(numbers(found.end[0]))
        return OdeSolution(integration.method, integration.fun, AcceptedStep(t, h, y, ys, memory), times)


def _at_steps(steps: _Steps, found: FoundEvents | None) -> OdeResult:
    """Return the solution at the ends of all steps."""
    first, (t, y, *_) = steps.first, steps.ends
    if not len(t) and numbers(steps.last.status) == 0:  # an interval of no length
        t, y = np.stack([first.t]), np.stack([first.y])
    t = np.concatenate([np.stack([first.t]), t])
    t = t if steps.integration.times_vary else numbers(t)
    y = np.concatenate([np.stack([first.y]), y])
    if found is not None and found.end is not None:
        t, y = np.append(t[:-1], found.end[0]), np.concatenate([y[:-1], found.end[1][None]])
    return result_of(t, y.T, steps.integration, steps.last, found)


def _plain_parts(value: Any) -> Any:
    return tuple(map(plain, value)) if isinstance(value, tuple) else plain(value)


def _method(name: Any) -> StepMethod:
    """Return the method of a name."""
    if isinstance(name, str) and name in _METHODS:
        return _METHODS[name]
    if name in ("BDF", "LSODA"):
        raise UnsupportedError(
            f"solve_ivp: method={name!r} is not available: derivatives of a method of several steps depend on how it"
            " begins. For a stiff problem write method='Radau' or method='Rodas5P', for others 'RK45' or 'DOP853'"
        )
    raise UnsupportedError(
        f"solve_ivp: method={name!r} is not available; there are {', '.join(_METHODS)}. Radau and Rodas5P are for stiff"
        " problems"
    )

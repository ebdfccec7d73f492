"""Result of an integration, as SciPy has it."""

from typing import Any

import numpy as np

from tapegrad.integrate.arguments import is_recording, numbers, plain
from tapegrad.integrate.events import FoundEvents
from tapegrad.integrate.steps import FAILED, OUT_OF_STEPS, Integration, State
from tapegrad.loops.carry import leaf_of
from tapegrad.transforms.stop_gradient import stop_gradient

MESSAGES = {
    0: "The solver successfully reached the end of the integration interval.",
    1: "A termination event occurred.",
    OUT_OF_STEPS: "The integration was to make no more steps: see max_steps.",
    FAILED: "Required step size is less than spacing between numbers.",
}


class OdeResult(dict[str, Any]):
    """Result of `solve_ivp`: a dict whose items are attributes, as in SciPy."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"OdeResult has no {name!r}; there are {', '.join(self)}") from None

    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __repr__(self) -> str:
        width = max(map(len, self))
        return "\n".join(f"{name:>{width}}: {value}" for name, value in self.items())


def result_of(t: Any, y: Any, integration: Integration, last: State, found: FoundEvents | None) -> OdeResult:
    """Return SciPy's result; outside of recordings of plain numbers where nothing is differentiated."""
    last = stop_gradient(last)
    status = last.status
    if is_recording():
        evaluations, status = (leaf_of(count).astype(np.int64) for count in (last.evaluations, status))
        result = OdeResult(t=t, y=y, nfev=evaluations, status=status, success=status >= 0)
        if found is not None:
            result.update(t_events=found.times, y_events=found.states)
        return result
    number, (jacobians, factorizations) = int(numbers(status)), integration.counts(last)
    times, states = (
        (None, None) if found is None else (list(map(plain, each)) for each in (found.times, found.states))
    )
    return OdeResult(
        t=plain(t), y=plain(y), sol=None, t_events=times, y_events=states, nfev=int(numbers(last.evaluations)),
        njev=int(numbers(jacobians)), nlu=int(numbers(factorizations)), status=number, message=_message(last),
        success=number >= 0,
    )  # fmt: skip


def _message(last: State) -> str:
    """Return SciPy's message, and where the solver has stopped if it did not go on."""
    number = int(numbers(last.status))
    if number not in (FAILED, OUT_OF_STEPS):
        return MESSAGES[number]
    place = f" It has stopped at t={float(numbers(last.t)):.9g}, after {int(numbers(last.accepted))} steps"
    finite = np.isfinite(numbers(last.y)).all() and np.isfinite(numbers(last.size))
    return MESSAGES[number] + place + ("." if finite else ", where the slope is not finite.")

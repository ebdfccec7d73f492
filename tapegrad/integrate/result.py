"""Result of an integration, as SciPy has it."""

from typing import Any

import numpy as np

from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.integrate.arguments import is_recording, numbers
from tapegrad.integrate.steps import FAILED
from tapegrad.transforms.stop_gradient import stop_gradient

MESSAGES = {
    0: "The solver successfully reached the end of the integration interval.",
    1: "A termination event occurred.",
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


def result_of(t: Any, y: Any, evaluations: Any, status: Any) -> OdeResult:
    """Return SciPy's result; outside of recordings of plain numbers where nothing is differentiated."""
    evaluations = stop_gradient(evaluations)
    if is_recording():
        return OdeResult(t=t, y=y, nfev=evaluations, status=status, success=status >= 0)
    number = int(numbers(status))
    return OdeResult(
        t=plain(t), y=plain(y), sol=None, t_events=None, y_events=None, nfev=int(numbers(evaluations)), njev=0,
        nlu=0, status=number, message=MESSAGES[number], success=number >= 0,
    )  # fmt: skip


def plain(value: Any) -> Any:
    """Return a Tensor that nothing is differentiated by as an array."""
    return np.asarray(value) if is_tensor(value) and value.constant else value

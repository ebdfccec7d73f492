"""Search for the parameters: values and gradients of the marginal density, from mode to mode."""

import numpy as np

from tapegrad.engine.runtime.messages.progress import Progress
from tapegrad.latent.mode import FOUND, reason
from tapegrad.optimize.random_effects.model import LatentModel


class ModeToMode:
    """Marginal density for an optimiser: each search for a mode begins at the best one so far.

    Parameters
    ----------
    model
        The model.
    effects
        Where the first search begins.
    line
        Progress line.

    Attributes
    ----------
    effects
        The mode of the best parameters.
    evaluations, steps
        Number of calls, and of steps of Newton's method in them.
    failure
        Why the last call has found no mode; empty if it has.
    """

    def __init__(self, model: LatentModel, effects: np.ndarray, line: Progress | None = None) -> None:
        self._model, self._line = model, line
        self._value = np.inf
        self.effects = effects
        self.evaluations = self.steps = 0
        self.failure = ""

    def begin_anew(self) -> None:
        """Forget the best value: what comes is another function. The mode stays."""
        self._value = np.inf

    def __call__(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient; inf and nan if there is no mode."""
        (value, (mode, status, steps)), gradient = self._model.marginal(free, self.effects, *self._model.args)
        self.evaluations += 1
        self.steps += int(steps)
        self.failure = "" if status == FOUND else reason(status)
        if status == FOUND and value < self._value:
            self.effects, self._value = mode, value
        if self._line is not None and self._line.due:
            self._line.show(
                f"laplace: {self.evaluations} evaluations, {self.steps} Newton steps, value {float(value):.6g}"
            )
        return value, gradient

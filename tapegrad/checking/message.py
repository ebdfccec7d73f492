"""What is said of a wrong derivative."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapegrad.checking.numerical import Estimate

_NAMES = {"fwd": "forward mode", "rev": "reverse mode"}


@dataclass(frozen=True)
class Disagreement:
    """A derivative that is not the numerical one.

    Attributes
    ----------
    modes
        The modes of the derivatives that were taken, the last one of which is in question.
    element
        The element of the results, in forward mode, or of what there is in reverse mode: one inner product.
    exact, found, allowed
        The derivative, the numerical one, and by how much they may differ.
    resolved
        Whether the numerical one is good enough to say that the other is wrong.
    """

    modes: tuple[str, ...]
    element: int
    exact: float
    found: Estimate
    allowed: float
    resolved: bool

    def text(self, title: str, name: str, direction: Any, values: Sequence[np.ndarray]) -> str:
        """The message, for a function, one of its arguments, a direction and the function's results."""
        mode = " over ".join(_NAMES[mode] for mode in reversed(self.modes))
        what = "a wrong derivative" if self.resolved else "no numerical derivative could be found: that"
        number, error = float(self.found.number[self.element]), float(self.found.error[self.element])
        lines = [
            f"check_grads: {mode}, order {len(self.modes)}: {what} of {title} by {name}",
            f"  {self._subject(values)}",
            f"  {_NAMES[self.modes[-1]]}: {self.exact!r}",
            f"  {self.found.how}: {number!r}, with an estimated error of {error:.2g}",
            f"  off by {abs(self.exact - number):.3g}, where {self.allowed:.3g} is allowed",
            f"  direction: {_written(direction)}",
        ]
        if not self.resolved:
            lines.append(
                "  the function is noisy, jumps, or is not finite near this point; pass eps, or another point"
            )
        return "\n".join(lines)

    def _subject(self, values: Sequence[np.ndarray]) -> str:
        """What the two numbers are."""
        if self.modes[-1] == "rev":
            return "inner product of the cotangent with the direction, for random cotangents of the results"
        element = self.element
        for k, value in enumerate(values):
            if element < value.size:
                index = [int(i) for i in np.unravel_index(element, value.shape)]
                result = f"result {k}" if len(values) > 1 else "the result"
                return f"tangent of {result}" + (f", element {index}" if index else "")
            element -= value.size
        raise IndexError(self.element)


def _written(direction: Any) -> str:
    """A direction, shortened where it is long."""
    arrays = direction if isinstance(direction, list) else [direction]
    return ", ".join(np.array2string(a, threshold=20, precision=6).replace("\n", "") for a in arrays)

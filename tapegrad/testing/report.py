"""Messages about wrong and inconclusive derivatives."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tapegrad.testing.directions import Direction
from tapegrad.testing.subject import Subject
from tapegrad.testing.verdict import Verdict

_NAMES = {"fwd": "forward mode", "rev": "reverse mode"}


def title_of(modes: Sequence[str]) -> str:
    """Return the modes of a derivative, the outermost first, and its order."""
    return f"{' over '.join(_NAMES[mode] for mode in reversed(modes))}, order {len(modes)}"


@dataclass(frozen=True)
class Finding:
    """A derivative that the numerical one does not confirm.

    Attributes
    ----------
    modes
        The modes of the derivatives that were taken. The last one is in question.
    subject, values, direction
        The function, its results, and the direction of the derivative.
    weights
        The cotangents of the results in reverse mode.
    exact, verdict, worst
        The derivatives, the verdict on them, and the element in question.
    """

    modes: tuple[str, ...]
    subject: Subject
    values: list[np.ndarray]
    direction: Direction
    weights: np.ndarray | None
    exact: np.ndarray
    verdict: Verdict
    worst: int

    @property
    def is_wrong(self) -> bool:
        """True if the derivative is wrong, not inconclusive."""
        return bool(self.verdict.wrong[self.worst])

    def wrong(self) -> str:
        """Return the message about a wrong derivative."""
        return "\n".join([self._headline("a wrong derivative of"), *self._numbers(), self._direction_text()])

    def inconclusive(self) -> str:
        """Return the message about an inconclusive derivative."""
        found, exact = self.verdict, float(self.exact[self.worst])
        error = float(found.error[self.worst])
        lines = [self._headline("cannot tell whether this is right: the derivative of"), *self._numbers()]
        if not np.isfinite(error):
            why = (
                "no numerical derivative could be found: the function jumps, or is not finite near this point"
            )
        elif error > 1e-3 * max(abs(exact), abs(float(found.number[self.worst]))):
            why = "the noise of the function hides it; pass another point, or atol for what need not be told"
        else:
            why = "the function is something else at small steps than at large ones: it is noisy or rounded"
        return "\n".join([*lines, self._direction_text(), f"  {why}"])

    def _headline(self, what: str) -> str:
        name = self.subject.names[self.direction.argument]
        at = f", element {self._index()}" if self._index() else ""
        return f"check_grads: {title_of(self.modes)}: {what} {self.subject.title} by {name}{at}"

    def _index(self) -> list[int]:
        """Return the index of the moved element; empty if several are moved, or the argument is a scalar."""
        moved = self.direction.parts[self.direction.argument]
        if self.direction.chosen.size != 1:
            return []
        return [int(i) for i in np.unravel_index(self.direction.chosen[0], moved.shape)]

    def _numbers(self) -> list[str]:
        found, k, exact = self.verdict, self.worst, float(self.exact[self.worst])
        number, error = float(found.number[k]), float(found.error[k])
        return [
            f"  {self._quantity()}",
            f"  {_NAMES[self.modes[-1]]}: {exact!r}",
            f"  {found.how[k]}: {number!r}, with an estimated error of {error:.2g}",
            f"  off by {abs(exact - number):.3g}, where {float(found.allowed[k]):.3g} is allowed",
        ]

    def _direction_text(self) -> str:
        step = self.direction.parts[self.direction.argument]
        return f"  direction: {np.array2string(step, threshold=20, precision=6).replace(chr(10), '')}"

    def _quantity(self) -> str:
        """Return what the two numbers are."""
        if self.weights is None:
            return f"tangent of {_element(self.values, self.worst)}"
        weighted = np.flatnonzero(self.weights)
        of = _element(self.values, int(weighted[0])) if weighted.size == 1 else "several results at once"
        return f"inner product of the direction with the cotangent, for a cotangent of {of}"


def _element(values: Sequence[np.ndarray], element: int) -> str:
    """Return the name of an element of the results, which are counted through all arrays."""
    for k, value in enumerate(values):
        if element < value.size:
            index = [int(i) for i in np.unravel_index(element, value.shape)]
            result = f"result {k}" if len(values) > 1 else "the result"
            return result + (f", element {index}" if index else "")
        element -= value.size
    raise IndexError(element)

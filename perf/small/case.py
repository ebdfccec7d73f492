"""A model at any size, with its gradient by hand, forms for other libraries, and targets."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numba

from perf.workloads import Array, Workload

Data = tuple[Array, ...]
Function = Callable[..., Any]

# Strict arithmetic, as in replays: sums in the order that is written.
by_hand = numba.njit(error_model="numpy")
by_hand_inline = numba.njit(error_model="numpy", inline="always")


@dataclass(frozen=True)
class Case:
    """A model at any size.

    Attributes
    ----------
    name, title : str
        Its key in `CASES`, and one line for the report.
    function : callable
        ``function(xp, x, *data)``, as users of NumPy write it.
    inputs : callable
        ``inputs(size)``, x and the data; the same numbers every time.
    loop : callable
        ``loop(x, *data)``, value and gradient by hand, compiled.
    size, small_size : int
        The size that is measured, and one for tests.
    limit : float, optional
        The most that a call may take, as a multiple of the loop by hand, or of `beside`.
    below : tuple of str
        Peers that it must not be slower than, by how their names begin.
    scan : callable, optional
        The function as users of JAX write it, where it is another one: loops by `lax.scan`.
    symbolic : callable, optional
        The function as users of CasADi write it; without it CasADi is left out.
    beside : Case, optional
        Another way to write the model, which joins the race.
    """

    name: str
    title: str
    function: Function
    inputs: Callable[[int], tuple[Array, Data]]
    loop: Function
    size: int
    small_size: int
    limit: float | None = None
    below: tuple[str, ...] = ()
    scan: Function | None = None
    symbolic: Function | None = None
    beside: "Case | None" = None

    def workload(self, size: int) -> Workload:
        """Return the workload at a size."""
        x, data = self.inputs(size)
        reference = partial(_answer, self.loop, data)
        return Workload(self.name, self.function, (size,), lambda _: x, reference, data)


def _answer(loop: Function, data: Data, x: Array) -> Any:
    return loop(x, *data)

"""Residuals of several blocks of parameters, with Jacobians by blocks, recorded once for all cost functions."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.frontend.recording.shape import ravel
from tapegrad.optimize.flat import FlatVector
from tapegrad.transforms.base import ConfiguredTransform, replay_of, without_jit
from tapegrad.transforms.jacobians.jacobian import jacobian
from tapegrad.transforms.jit import Jit, jit


class BlockResiduals(FlatVector):
    """Residuals, a vector of float64, of a vector for each block and of further arguments.

    The settings are the layouts of the blocks, `None` for a block that is passed as it is.
    """

    def __call__(self, *values: Any) -> Any:
        pairs = zip(values, self.settings, strict=False)
        blocks = [x if layout is None or layout.is_vector else layout.split(x) for x, layout in pairs]
        function = without_jit(self.function)
        return self._joined(function(*blocks, *values[len(blocks) :]), values[0])


class WithJacobians(ConfiguredTransform):
    """Residuals, then their Jacobian by each block.

    The settings are `True` for Jacobians as vectors, row by row, and a move for each block: a function of the block and
    of a step that returns the moved block, with the size of the step. The Jacobian is by the step, at zero. `None`
    stands for a Jacobian by the block itself.
    """

    name = "jacobian"

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        flat, *moves = self.settings
        count, inner = len(moves), without_jit(self.function)

        def moved(*steps: Any) -> tuple[Any, Any]:
            pairs = zip(values, steps, moves, strict=False)
            residuals = inner(
                *[step if move is None else move(x, step) for x, step, move in pairs], *values[count:]
            )
            return residuals, residuals

        starts = [x if move is None else np.zeros(move.size) for x, move in zip(values, moves, strict=False)]
        found, residuals = jacobian(moved, tuple(range(count)), has_aux=True)(*starts)
        return residuals, *(map(ravel, found) if flat else found)


def replays(
    function: Callable[..., Any], layouts: tuple[Any, ...], moves: tuple[Any, ...], flat: bool
) -> tuple[Jit[..., Any], Jit[..., Any]]:
    """Return the residuals, and the residuals with Jacobians; those of one ``jit(f)`` share their recordings."""
    residuals = replay_of(BlockResiduals(jit(function), *layouts))
    return residuals, replay_of(WithJacobians(residuals, flat, *moves))


def copied(args: Sequence[Any]) -> tuple[Any, ...]:
    """Return further arguments with copies of the arrays, in C order: others slow a replay down."""
    return tuple(np.array(x, order="C") if isinstance(x, np.ndarray) else x for x in args)

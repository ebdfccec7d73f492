"""Fourier transforms along an axis. Complex numbers are pairs of floats, along a last axis that is not counted here.

The record of the parameters, then the rows.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tapegrad.ops.params import OperandView
from tapegrad.ops.row import Structural


class FourierParams(NamedTuple):
    """Parameters of a transform of `length` rows, each of `inner` elements, in each of `lines` blocks.

    The bare sum is multiplied by ``length ** (-halves / 2)``; `halves` is 0, 1 or 2. Complex data of a real transform
    have ``length // 2 + 1`` rows.
    """

    lines: int
    length: int
    inner: int
    halves: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        source, sizes = operands[0], (operands[0].size, result.size)
        lines, half = self.lines * self.inner, self.length // 2 + 1
        real, pairs, halved = lines * self.length, 2 * lines * self.length, 2 * lines * half
        fits = min(self) >= 0 and self.length > 0 and self.halves <= 2
        fits &= sizes in ((pairs, pairs), (real, halved), (halved, real))
        if fits and source.contiguous and result.contiguous:
            return ""
        return f"{self}: shapes {source.shape} and {result.shape}"


def _transform(name: str, transpose: str) -> Structural:
    return Structural(
        name,
        "opaque",
        f"fourier.transforms.{name}_{{direction}}_{{dtype}}",
        ((),),
        FourierParams,
        writes=(0,),
        transpose=transpose,
        batching="lines",
        pattern="transformed",
    )


FOURIER: tuple[Structural, ...] = (
    _transform("fft", "ifft"),
    _transform("ifft", "fft"),
    _transform("rfft", "rfft_back"),
    _transform("rfft_back", "rfft"),
    _transform("irfft", "irfft_back"),
    _transform("irfft_back", "irfft"),
)

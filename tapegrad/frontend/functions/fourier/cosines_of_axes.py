"""Discrete cosine and sine transforms along several axes: one axis after another."""

from collections.abc import Callable
from typing import Any

from tapegrad.frontend.functions.fourier.cosines import dct, dst, idct, idst
from tapegrad.frontend.functions.fourier.rows import numbers_of
from tapegrad.frontend.functions.fourier.several_axes import axes_and_lengths
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like, renamed

_AXES = (
    ("along an axis", "along several axes"),
    (
        """n : int, optional
    Length of the transform: the axis is cut, or padded with zeros. That of the axis by default.
axis : int, default -1
    The axis.""",
        """s : sequence of int, optional
    Length of the transform along each axis, which is cut, or padded with zeros; -1 for that of the axis. By default
    those of the axes.
axes : sequence of int, optional
    The axes. By default all, or the last ones if `s` is given.""",
    ),
    ("Factor of the transform", "Factor of the transform along each axis"),
    ("`n` is below 1", "a length is below 1"),
)


def _of_axes(function: Callable[..., Tensor], example: str) -> Callable[..., Tensor]:
    """Make the function of several axes."""
    name = f"{function.__name__}n"

    @like(function, *_AXES, examples=example)
    def transform(
        x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None, *, orthogonalize: Any = None
    ) -> Tensor:
        made = numbers_of(x, name)
        for axis, n in zip(*axes_and_lengths(made, s, axes, name), strict=True):
            made = function(made, type, n, axis, norm, orthogonalize=orthogonalize)
        return made

    transform.__module__ = __name__
    return renamed(transform, name)


_SQUARE = '>>> tg.fft.{}(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), norm="ortho")[0, 0]\nTensor({})'
_BACK = (
    ">>> tg.fft.i{0}(tg.fft.{0}(tg.tensor([[1.0, 2.0], [3.0, 4.0]])))\nTensor([[1., 2.],\n        [3., 4.]])"
)
dctn = _of_axes(dct, _SQUARE.format("dctn", "5."))
idctn = _of_axes(idct, _BACK.format("dctn"))
dstn = _of_axes(dst, _SQUARE.format("dstn", "5."))
idstn = _of_axes(idst, _BACK.format("dstn"))

FUNCTIONS = {function.__name__: function for function in (dctn, idctn, dstn, idstn)}

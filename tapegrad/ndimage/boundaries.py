"""Margins of images: what stands beyond the edges, by SciPy's names of the modes."""

import functools
from typing import Any

import numpy as np

from tapegrad.frontend.functions.numerics.padding import pad
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor

_NUMPYS = {  # names of the modes that repeat elements, in NumPy
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "mirror": "reflect",
    "nearest": "edge",
    "wrap": "wrap",
    "grid-wrap": "wrap",
}
_CONSTANT = ("constant", "grid-constant")
_MAX_CACHED_EXTENT = 4096


def is_zero_outside(mode: Any, cval: Any) -> bool:
    """Return whether the image is zero beyond its edges; check the mode.

    Raises
    ------
    RuntimeError
        If there is no such mode.
    """
    if mode in _CONSTANT:
        return not is_tensor(cval) and cval == 0
    if mode not in _NUMPYS:
        raise RuntimeError(
            f"boundary mode {mode!r} is not supported; there are {', '.join([*_NUMPYS, *_CONSTANT])}"
        )
    return False


def extended(x: Tensor, axis: int, before: int, after: int, mode: str, cval: Any) -> Tensor:
    """Return an image with margins along one axis.

    The margins are joined to it: a gather of the whole image along its last axis takes twice as long.
    """
    if before == after == 0 or x.shape[axis] == 0:
        return x
    if mode in _CONSTANT:
        widths = [(before, after) if k == axis else (0, 0) for k in range(x.ndim)]
        return pad(x, widths, constant_values=cval)
    first, last = margins(_NUMPYS[mode], x.shape[axis], before, after)
    lead = (slice(None),) * axis
    parts = [x[(*lead, first)]] if before else []
    return concatenate([*parts, x, *([x[(*lead, last)]] if after else [])], axis)


def margins(mode: str, extent: int, before: int, after: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the elements in both margins of an axis, in a mode of `numpy.pad`."""
    few = max(extent, before, after) <= _MAX_CACHED_EXTENT
    rows = (_kept_rows if few else _rows)(mode, extent, before, after)
    return rows[:before], rows[before + extent :]


def _rows(mode: Any, extent: int, before: int, after: int) -> np.ndarray:
    rows: np.ndarray = np.pad(np.arange(extent), (before, after), mode)
    rows.flags.writeable = False
    return rows


_kept_rows = functools.lru_cache(64)(_rows)

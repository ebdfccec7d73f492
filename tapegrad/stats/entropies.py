"""Entropies of distributions that are given by their probabilities."""

import math
from typing import Any

import numpy as np

from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.frontend.recording.elementwise import FUNCTIONS
from tapegrad.frontend.recording.shape import broadcast_to
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.array_like import Axis
from tapegrad.stats.parameters import variable


def entropy(
    pk: Any, qk: Any = None, base: float | None = None, axis: Axis = 0, *, keepdims: bool = False
) -> Tensor:
    """Compute the entropy of a distribution, or its relative entropy to another one.

    Parameters
    ----------
    pk : Tensor or array_like
        Probabilities along an axis, which are divided by their sum first.
    qk : Tensor or array_like, optional
        Those of the other distribution; they broadcast with `pk`.
    base : float, optional
        Base of the logarithm; e by default.
    axis : int or tuple of int, optional
        The axis of a distribution, or several; all for None.
    keepdims : bool, default False
        Keep these axes with extent 1.

    Returns
    -------
    Tensor
        ``-sum(pk * log(pk))``, or ``sum(pk * log(pk / qk))``, without these axes. A probability of 0 counts nothing.

    Raises
    ------
    ValueError
        If the base is not positive.

    Examples
    --------
    >>> import tapegrad as tg
    >>> p = tg.tensor([0.5, 0.5])
    >>> tg.stats.entropy(p, base=2), tg.stats.entropy(p, [0.25, 0.75], base=2)
    (Tensor(1.), Tensor(0.20751875))
    """
    name = "tapegrad.stats.entropy"
    if base is not None and base <= 0:
        raise ValueError(f"{name}: the base of a logarithm is to be positive, not {base!r}")
    given = [variable(x, name) for x in (pk, qk) if x is not None]
    shape = np.broadcast_shapes(*(x.shape for x in given))
    counts = [broadcast_to(x, shape) for x in given]  # before the sums, as in SciPy
    shares = [x / sum(x, axis, keepdims=True) for x in counts]
    terms = FUNCTIONS["entr" if qk is None else "rel_entr"](*shares)
    total = sum(terms, axis, keepdims=keepdims)
    return total if base is None else total / math.log(base)

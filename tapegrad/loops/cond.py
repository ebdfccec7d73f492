"""`cond` and `switch`: branches of which one runs, as loops of at most one iteration each."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.errors import check_function, name_of
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.frontend.words.derived_docs import like
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.loops.body import shapes_of
from tapegrad.loops.carry import LeafStructure, leaf_of, taken_apart
from tapegrad.loops.run import FlatLoop
from tapegrad.program.recording.recording import is_traced


@hides_frames
def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """Return ``true_fun(*operands)`` if `pred` is true, otherwise ``false_fun(*operands)``.

    Parameters
    ----------
    pred : bool, array_like or Tensor
        One boolean or number.
    true_fun, false_fun : callable
        Return results of the same structure, shapes and dtypes. In a function that is recorded both are recorded, and
        one of them runs; over instances of `vmap` each takes its own.
    *operands : array_like, Tensor or structure of them
        Arguments of both.

    Returns
    -------
    result
        What the chosen function returned.

    Raises
    ------
    TypeError
        In a recording, if the results differ in structure, shapes or dtypes: eager code calls the chosen function
        alone, and returns its result as it is. Always, if `pred` is no single value.

    See Also
    --------
    switch : More than two branches.

    Notes
    -----
    An ``if`` in a recorded function is a guard: each side is a recording of its own, and a call checks which one it is.
    That is the fastest where the side seldom changes. `cond` is one recording.

    Examples
    --------
    >>> import tapegrad as tg
    >>> f = tg.jit(lambda x: tg.cond(x > 0, tg.log1p, tg.expm1, x))
    >>> tg.grad(f)(1.0), tg.grad(f)(-1.0)
    (np.float64(0.5), np.float64(0.36787944117144233))
    """
    check_function("cond", true_fun)
    check_function("cond", false_fun)
    chosen = leaf_of(pred)
    if chosen.ndim != 0:
        raise TypeError(
            f"cond: pred must be one boolean, but has shape {chosen.shape}; write where() for arrays"
        )
    if not is_tensor(chosen) or not is_traced(chosen):
        taken = bool(chosen.data_or_traced() if is_tensor(chosen) else chosen)
        return (true_fun if taken else false_fun)(*operands)
    truth = chosen if chosen.dtype == np.bool_ else chosen != 0
    return _branches("cond", [truth, ~truth], [true_fun, false_fun], operands)


@hides_frames
@like(
    cond,
    (
        "Always, if `pred` is no single value.",
        "Always, if `index` is no single integer.\nValueError\n    If there are no branches.",
    ),
    summary="Return ``branches[index](*operands)``.",
    parameters="""index : int or Tensor
    One integer. Beyond the ends the first or the last branch is taken, as in JAX.
branches : sequence of callables
    See `cond`.
*operands : array_like, Tensor or structure of them
    Arguments of each.""",
    see_also="cond : Two branches.",
    notes="",
    examples=""">>> kinds = [tg.sin, tg.cos, tg.tanh]
>>> tg.switch(2, kinds, 0.5)
Tensor(0.46211716)""",
)
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    branches = list(branches)
    if not branches:
        raise ValueError("switch: there are no branches")
    for branch in branches:
        check_function("switch", branch)
    chosen = leaf_of(index)
    if chosen.ndim != 0 or chosen.dtype.kind not in "iu":
        raise TypeError(f"switch: index must be one integer, but is {chosen.dtype} of shape {chosen.shape}")
    last = len(branches) - 1
    if not is_tensor(chosen) or not is_traced(chosen):
        number = int(chosen.data_or_traced() if is_tensor(chosen) else chosen)
        return branches[min(max(number, 0), last)](*operands)
    if not last:
        return branches[0](*operands)
    flags = [chosen <= 0, *(chosen == k for k in range(1, last)), chosen >= last]
    return _branches("switch", flags, branches, operands)


def _branches(
    name: str, flags: Sequence[Any], branches: Sequence[Callable[..., Any]], operands: tuple[Any, ...]
) -> Any:
    """Return the result of the branch whose flag is true: each is a loop that its flag ends."""
    structure: LeafStructure | None = None
    results: list[Any] = []
    for flag, branch in zip(flags, branches, strict=True):
        flat = _Branch(name, branch, operands)
        views = shapes_of(flat, branch)
        own = [np.zeros(view.shape, view.dtype) for view in views]
        if structure is None:
            structure, results = flat.structure, own
        _check(name, branches[0], branch, structure, flat.structure, results, own)
        loop = FlatLoop(
            name, flat.in_loop, branch, 1 + len(results),
            condition=lambda *leaves: [leaves[0]], condition_seen=branch,
        )  # fmt: skip
        _, *results = loop([flag, *results], ())[0]
    assert structure is not None
    return structure.built(results)


class _Branch:
    """Branch as a function without arguments: its operands are Tensors from outside.

    Attributes
    ----------
    structure
        Structure of its result.
    """

    def __init__(self, name: str, function: Callable[..., Any], operands: tuple[Any, ...]) -> None:
        self._name, self._function, self._operands = name, function, operands
        self.structure: Any = None

    def __call__(self) -> list[Any]:
        leaves, self.structure = taken_apart(self._function(*self._operands))
        return [leaf_of(leaf) for leaf in leaves]

    def in_loop(self, *leaves: Any) -> list[Any]:
        """Return a flag that ends the loop, and the results."""
        return [np.zeros((), np.bool_), *self()]


def _check(
    name: str,
    first: Any,
    branch: Any,
    expected: Any,
    structure: Any,
    results: Sequence[Any],
    own: Sequence[Any],
) -> None:
    """Raise if a branch returns something else than the first one."""
    seen, found = ([f"{y.dtype} {y.shape}" for y in each] for each in (results, own))
    if expected != structure or seen != found:
        dtype = np.result_type(*(y.dtype for y in (*results, *own))) if results or own else None
        alike = expected == structure and [y.shape for y in results] == [y.shape for y in own]
        hint = f"; write t.astype(np.{dtype}), or numbers of that dtype, in both" if alike else ""
        raise TypeError(
            f"{name}: branches must return the same structure, shapes and dtypes, but {name_of(first)} returns"
            f" {', '.join(seen) or 'nothing'} and {name_of(branch)} {', '.join(found) or 'nothing'}{hint}"
        )

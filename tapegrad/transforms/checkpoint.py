"""`checkpoint`: intermediate results that are computed again in the reverse sweep instead of being kept."""

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from tapegrad.autodiff.custom.functions import Functions
from tapegrad.autodiff.custom.op import CustomOp
from tapegrad.errors import check_function, name_of
from tapegrad.frontend.conversions.complex_views import complex_of, pairs_of
from tapegrad.frontend.tensor.copying import FunctionWrapper, described
from tapegrad.frontend.tensor.modes import errstate, thread
from tapegrad.frontend.tensor.tensor import from_array, is_tensor
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.pytree import flatten, replaced, unflatten
from tapegrad.transforms.jvp import jvp
from tapegrad.transforms.vjp import vjp

P = ParamSpec("P")
R = TypeVar("R")
_FLOAT = object()
_COMPLEX = object()  # the same of a complex output, which the op gives as pairs
_NOTHING = np.zeros(0)
_OF_OP = {"f": _FLOAT, "c": _COMPLEX}  # by the kind of a dtype


class Checkpointed(FunctionWrapper, Generic[P, R]):
    """Function made by `checkpoint`."""

    def __init__(self, function: Callable[P, R]) -> None:
        check_function("checkpoint", function)
        self.function = function
        functools.update_wrapper(self, function, updated=())

    def __repr__(self) -> str:
        return f"checkpoint({described(self.function)})"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    @hides_frames
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        mode = thread.mode
        leaves, definition = flatten((args, kwargs))
        by = [k for k, leaf in enumerate(leaves) if is_tensor(leaf) and not leaf.constant]
        result: R
        if not by or not mode.differentiate or mode.recorder is not None:
            result = self.function(*args, **kwargs)
        else:
            call = _Call(self.function, leaves, definition, by)
            result = call.result(call.op(*[_as_pairs(leaves[k]) for k in by]))
        return result


class _Call:
    """Call of a function, as an op whose operands are the Tensors that it is differentiated by.

    Complex operands and results of the function are pairs of floats for the op.
    """

    def __init__(
        self, function: Callable[..., Any], leaves: list[Any], definition: Any, by: list[int]
    ) -> None:
        self._function = function
        self._complex = {k for k in by if leaves[k].dtype.kind == "c"}
        self._leaves = [None if k in by else leaf for k, leaf in enumerate(leaves)]
        self._definition, self._by = definition, by
        self._errors = errstate("nan" if thread.mode.nan_on_failure else "raise")
        self._results: list[
            Any
        ] = []  # the leaves of the result, `_FLOAT` or `_COMPLEX` for those that are the op's
        self._structure: Any = None
        self.op = CustomOp(
            Functions(f"checkpoint({name_of(function)})", self._forward, self._vjp, self._jvp, True)
        )

    def _run(self, *values: Any) -> tuple[Any, ...]:
        """Call the function with these values of the operands. Return the floats in its result."""
        given = [complex_of(x) if k in self._complex else x for k, x in zip(self._by, values, strict=True)]
        leaves = replaced(self._leaves, self._by, given)
        args, kwargs = unflatten(self._definition, leaves)
        with self._errors:  # the reverse sweep may run elsewhere
            results, self._structure = flatten(self._function(*args, **kwargs))
        kinds = [each.dtype.kind if is_tensor(each) else "" for each in results]
        self._results = [_OF_OP.get(kind, each) for kind, each in zip(kinds, results, strict=True)]
        both = zip(kinds, results, strict=True)
        # of a constant result an array that is not read: an op has an output
        return tuple(_as_pairs(each) for kind, each in both if kind in _OF_OP) or (_NOTHING,)

    def _forward(self, *arrays: np.ndarray) -> tuple[Any, ...]:
        """Return constants: the op refuses what depends on a Tensor that is no operand."""
        return self._run(*[from_array(x, constant=True) for x in arrays])

    def _vjp(self, y_bar: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        return vjp(self._run, *xs)[1](y_bar)

    def _jvp(self, x_dots: Any, y: Any, *xs: Any) -> Any:
        return jvp(self._run, xs, x_dots)[1]

    def result(self, floats: tuple[Any, ...]) -> Any:
        """Return the result of the function, with the outputs of the op in it."""
        found = iter(floats)
        leaves = [
            next(found) if each is _FLOAT else complex_of(next(found)) if each is _COMPLEX else each
            for each in self._results
        ]
        return unflatten(self._structure, leaves)


def _as_pairs(x: Any) -> Any:
    """Return complex numbers as pairs of floats, real ones as they are."""
    return pairs_of(x) if x.dtype.kind == "c" else x


def checkpoint(function: Callable[P, R]) -> Checkpointed[P, R]:
    """Make a function whose intermediate results are computed again in the reverse sweep, instead of being kept.

    Parameters
    ----------
    function : callable
        A function of any structure of Tensors, arrays and numbers. It must be pure, for it is called again. Tensors
        that a gradient flows back to must be arguments of it.

    Returns
    -------
    callable
        Takes the arguments of `function` and returns its result.

    Raises
    ------
    TypeError
        If `function` computes with a Tensor that a gradient flows back to and that is not an argument.

    Notes
    -----
    Of each call the eager tape keeps the arguments that are differentiated by and the results, in place of what is
    computed in between; several such arguments are copied into one buffer. The reverse sweep calls `function` once
    more for each, so a gradient costs one more forward sweep [1]_. Twenty calls of a function with thirty operations
    were measured to need a seventh of the memory. In a function that is recorded by `jit` it changes nothing: the
    recording has all instructions, and a replay keeps what its reverse sweep reads.

    References
    ----------
    .. [1] A. Griewank and A. Walther, "Algorithm 799: revolve", ACM Transactions on Mathematical Software 26(1), 2000.

    Examples
    --------
    >>> import tapegrad as tg
    >>> step = tg.checkpoint(lambda u: u + 0.1 * tg.sin(u) * tg.cos(u))
    >>> def final(u):
    ...     for _ in range(10):
    ...         u = step(u)
    ...     return u
    >>> tg.grad(final)(0.5)
    np.float64(1.1543555728334658)
    """
    return Checkpointed(function)

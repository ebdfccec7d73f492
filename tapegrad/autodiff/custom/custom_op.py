"""`custom_op`."""

from collections.abc import Callable
from typing import Any, overload

from tapegrad.autodiff.custom.functions import Functions
from tapegrad.autodiff.custom.op import CustomOp, as_function


@overload
def custom_op(
    name: str,
    forward: Callable[..., Any],
    vjp: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    shape: Callable[..., Any] | None = None,
    differentiable: bool = False,
) -> CustomOp: ...
@overload
def custom_op(
    name: str,
    forward: None = None,
    vjp: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    shape: Callable[..., Any] | None = None,
    differentiable: bool = False,
) -> Callable[[Callable[..., Any]], CustomOp]: ...
def custom_op(
    name: str,
    forward: Callable[..., Any] | None = None,
    vjp: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    shape: Callable[..., Any] | None = None,
    differentiable: bool = False,
) -> Any:
    """Make an op of functions of NumPy arrays: one instruction, whatever they compute inside.

    Parameters
    ----------
    name : str
        The name of the op in messages and printed tapes.
    forward : callable, optional
        ``forward(*xs, **statics)`` computes an array or a tuple of arrays, of floats or complex numbers in double or
        single precision, from arrays. Their shapes may depend on the shapes of `xs` and on `statics` only. If it is
        left out, `custom_op` is a decorator of this function.
    vjp : callable, optional
        ``vjp(y_bar, y, *xs, **statics)`` returns a tuple of the cotangents of `xs`: an array of the same shape and
        dtype for each, None for one that has no gradient. What it returns for integers and booleans is ignored. If
        there is one `x`, its cotangent alone will do. `y` and `y_bar` are what `forward` has returned and the
        cotangent of that: arrays, or tuples of arrays.
    jvp : callable, optional
        ``jvp(x_dots, y, *xs, **statics)`` returns the tangent of `y`; `x_dots` is a tuple with an array for each
        `x`, None for integers and booleans. Without it, there is no forward mode through the op.
    shape : callable, optional
        ``shape(*shapes, **statics)`` states the shape of the output, or a list of shapes if there are several;
        what `forward` returns is checked against it.
    differentiable : bool, default False
        `vjp` and `jvp` are written with tapegrad's functions and may be called with Tensors, so the op has higher
        derivatives. A `vjp` that is itself a custom op is differentiated by its own.

    Returns
    -------
    CustomOp or callable
        The op takes Tensors, arrays and numbers by position, and hashable static arguments by keyword; it returns a
        Tensor or a tuple of Tensors. Without `forward`, a decorator that makes it.

    Raises
    ------
    TypeError
        If `name` is not a string, or one of the functions is not callable.

    Notes
    -----
    A gradient flows back to the arguments only. A Tensor that the functions close over must be a constant: it is an
    error if they compute with another one.

    The functions are given read-only arrays, whose contents are valid during the call: copy what is to be kept. In a
    replay the sweep calls them for that one instruction and continues; they must be pure, for a replay calls them as
    often as it needs their results. Integers and booleans are passed by way of float64, and must be smaller than
    2**53 in size; a replay reads the values that they have then.

    The cotangent of a complex array is ``dL/dx + i dL/dy``, that of a real one is real: for an analytic function,
    `vjp` multiplies by the conjugate of the derivative.

    Functions compiled by `numba.njit` are called by a replay without Python, after the first time. They are given
    arrays that they may write to.

    An exception of the functions is raised where it happened, in `backward` and in replays as well, with a note that
    names the op. Gradients are then what they were before.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> @tg.custom_op("cube", vjp=lambda y_bar, y, x: 3 * x**2 * y_bar)
    ... def cube(x):
    ...     return x**3
    >>> x = tg.tensor([1.0, 2.0])
    >>> cube(x).sum().backward()
    >>> x.grad
    array([ 3., 12.])

    A linear solve by LAPACK, with the derivative of a solution:

    >>> def solve_vjp(y_bar, y, a, b):
    ...     b_bar = np.linalg.solve(a.T, y_bar)
    ...     return -np.outer(b_bar, y), b_bar
    >>> solve = tg.custom_op("solve", np.linalg.solve, solve_vjp)
    >>> tg.grad(lambda b: tg.sum(solve(np.diag([2.0, 4.0]), b)))(np.ones(2))
    array([0.5 , 0.25])
    """
    if not isinstance(name, str):
        raise TypeError(f"custom_op: the first argument is the name of the op, not {type(name).__name__}")
    given = {"vjp": vjp, "jvp": jvp, "shape": shape}
    for role, function in given.items():
        if function is not None:
            as_function(function, name, role)

    def make(forward: Callable[..., Any]) -> CustomOp:
        return CustomOp(
            Functions(name, as_function(forward, name, "forward"), vjp, jvp, differentiable), shape
        )

    return make if forward is None else make(forward)

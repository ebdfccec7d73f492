"""`jacobian`: one forward sweep, and a reverse sweep for each element of the result, in one compiled loop."""

import functools
from collections.abc import Callable
from typing import Any

from tapegrad.sweep import replay
from tapegrad.transforms.arguments import Argnums, select
from tapegrad.transforms.differentiation import refuse_nesting
from tapegrad.transforms.jit import Jit
from tapegrad.transforms.signature import has_tensor, take_apart


def jacobian(function: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that returns the derivatives of every element of `function`'s result.

    Parameters
    ----------
    function
        A function whose result is one Tensor. Of a ``jit(f)`` the Jacobian is replayed; other functions are
        recorded anew at each call.
    argnums
        Which positional arguments to differentiate by, as for `grad`.

    Returns
    -------
    callable
        Takes the arguments of `function`. For a result of shape ``r`` and an argument of shape ``s`` it returns an
        array of shape ``r + s``; structures of arguments, and tuples of `argnums`, give structures of such arrays.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.jacobian(lambda x: x**2)(np.array([1.0, 3.0]))
    array([[2., 0.],
           [0., 6.]])
    """
    known = function if isinstance(function, Jit) else None

    def jacobians(*args: Any, **kwargs: Any) -> Any:
        if has_tensor(args, kwargs):
            refuse_nesting()
        arguments = take_apart(args, kwargs)
        selection = select(args, argnums)
        wrt = selection.inputs(arguments)
        recorder = known if known is not None else Jit(function)
        _, (_, *rows) = recorder.run(arguments, wrt, replay.replay_jacobian, rows=True, check=_check_recorded)
        return selection.arrange([array[()] if array.ndim == 0 else array for array in rows])

    functools.update_wrapper(jacobians, function, updated=())
    return jacobians


def _check_recorded(recorded: Any) -> None:
    if recorded.only_output < 0:
        raise TypeError("jacobian: the function must return one Tensor that depends on its arguments")

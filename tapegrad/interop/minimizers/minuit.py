"""`iminuit`: fits by MINUIT, with compiled values and gradients."""

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad.interop.packages import Vector, needed
from tapegrad.transforms.grad import grad


def iminuit(
    function: Callable[..., Any], x0: Any, *, name: Sequence[str] | None = None, ways: Sequence[Any] = ()
) -> Any:
    """Make an `iminuit.Minuit` for a function and its gradient.

    Parameters
    ----------
    function : callable
        A function that returns a number, of an array or a structure of arrays and floats.
    x0 : structure of arrays and floats
        Where the fit begins.
    name : sequence of str, optional
        A name for each element. By default the keys of `x0`, with the number of each element of arrays.
    ways : sequence, optional
        Further examples of the argument, one for each other outcome of its branches (see `compile`).

    Returns
    -------
    iminuit.Minuit
        Set its `errordef`, and call its `migrad`.

    Raises
    ------
    ModuleNotFoundError
        If iminuit is not installed.

    Examples
    --------
    >>> import tapegrad as tg
    >>> minuit = tg.interop.iminuit(lambda p: (p["a"] - 2) ** 2 + p["b"] ** 4, {"a": 0.0, "b": 1.0})  # doctest: +SKIP
    >>> minuit.migrad()  # doctest: +SKIP
    """
    package = needed("iminuit", "iminuit")
    vector = Vector(function, x0, ways)
    names = vector.element_names if name is None else name
    return package.Minuit(vector.compiled(), vector.x0, grad=vector.compiled(grad), name=names)

"""`scipy`: compiled functions as SciPy's `LowLevelCallable`."""

import ctypes
from typing import Any

from tapegrad.interop.packages import needed
from tapegrad.transforms.compiled.compiled import Compiled


def scipy(compiled: Compiled) -> Any:
    """Make a `scipy.LowLevelCallable` of a compiled function.

    Parameters
    ----------
    compiled : Compiled
        A function of a number, or of one array, that returns a number.

    Returns
    -------
    scipy.LowLevelCallable
        Of signature ``double (double, void *)`` or ``double (int, double *, void *)``, for `scipy.integrate`. It keeps
        the compiled function.

    Raises
    ------
    ValueError
        If the compiled function has other arguments.

    Examples
    --------
    >>> import tapegrad as tg
    >>> from scipy.integrate import quad
    >>> h = tg.compile(lambda x: tg.exp(-x), 1.0)
    >>> round(quad(tg.interop.scipy(h), 0, 10)[0], 6)
    0.999955
    """
    function = compiled.cfunc("scipy")
    return needed("scipy", "scipy").LowLevelCallable(function.ctypes, ctypes.c_void_p(function.user_data))

"""Special functions of Tensors, by the names of `scipy.special`.

``scipy.special.jv(0.5, t)`` does the same as ``tapegrad.special.jv(0.5, t)``: SciPy's ufuncs take Tensors.
"""

from tapegrad.frontend.functions.elements.special import FUNCTIONS as _FUNCTIONS
from tapegrad.frontend.functions.elements.special import OWN as _OWN

globals().update(_FUNCTIONS)
for _function in _OWN:
    _function.__module__ = __name__  # made at run time: by its name a pickle finds it here
__all__ = sorted(_FUNCTIONS)


def __dir__() -> list[str]:
    return [*__all__, "__all__", "__doc__"]

"""Doors to Fourier transforms: ``numpy.fft.fft(t)`` and ``scipy.fft.fft(t)`` do what ``tapegrad.fft.fft(t)`` does.

`numpy.fft` dispatches by NumPy's protocol. `scipy.fft` asks the backends that are registered: ours takes calls with
Tensors and leaves all others to SciPy's. It is registered when `scipy.fft` has been imported, before or after this
package, as both are imported late.
"""

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.numpy_face.after_import import after_import
from tapegrad.frontend.tensor.tensor import is_tensor

# An import of the package leaves the transforms for later
_HOME = "tapegrad.frontend.functions.fourier"
_MODULES = ("transforms", "several_axes", "cosines", "cosines_of_axes", "frequencies")
# Arguments of SciPy's functions that are of their memory and threads
_OF_SCIPY = ("overwrite_x", "workers", "plan")


@functools.cache
def functions() -> dict[str, Callable[..., Any]]:
    """Return the transforms of Tensors by their names."""
    modules = [importlib.import_module(f"{_HOME}.{name}") for name in _MODULES]
    return {name: function for module in modules for name, function in module.FUNCTIONS.items()}


def of_numpy(function: Any) -> Any:
    """Return tapegrad's function for a function of `numpy.fft`; None for any other."""
    name = getattr(function, "__name__", "")
    home = sys.modules.get("numpy.fft")  # which nobody has called a function of before it is there
    return functions().get(name) if name and getattr(home, name, None) is function else None


class FourierBackend:
    """Backend of `scipy.fft` for Tensors."""

    __ua_domain__ = "numpy.scipy.fft"

    @staticmethod
    def __ua_function__(method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call tapegrad's function if the operand, which is the first argument, is a Tensor."""
        if not is_tensor(args[0] if args else kwargs.get("x")):
            return NotImplemented
        name = method.__name__
        function = functions().get(name)
        if function is None:
            raise UnsupportedError(f"scipy.fft.{name} is not supported for Tensors")
        given = inspect.signature(method).bind(*args, **kwargs).arguments
        if given.get("plan") is not None:
            raise UnsupportedError(f"scipy.fft.{name} of Tensors: there are no plans that could be given")
        operand = given.pop("x")
        return function(operand, **{key: value for key, value in given.items() if key not in _OF_SCIPY})


def _register(module: ModuleType) -> None:
    module.register_backend(FourierBackend)


def open_doors() -> None:
    """Register the backend in `scipy.fft`: now, or right after its import."""
    after_import("scipy.fft", _register)

"""NumPy-like automatic differentiation on a flat Wengert tape, swept by Numba kernels.

    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0, 3.0])
    >>> tg.sum(tg.sin(x) * x).backward()
    >>> x.grad
    array([ 1.38177329,  0.07700375, -2.82885748])

Functions carry NumPy's names and take Tensors, arrays and numbers; ``np.sin(x)`` does the same as ``tg.sin(x)``.
"""

import importlib as _importlib
import sys as _sys
from types import ModuleType as _ModuleType
from typing import Any as _Any

import numpy as _np

from tapegrad.engine.runtime import interpreter as _interpreter  # noqa: F401  first of all, for it may refuse

# isort: split
from tapegrad import errors as errors
from tapegrad import special as special
from tapegrad.autodiff import backward as _backward  # noqa: F401  a method of Tensors
from tapegrad.engine.runtime import lazy as _lazy
from tapegrad.errors import AnomalyError as AnomalyError
from tapegrad.errors import CertificateError as CertificateError
from tapegrad.errors import ChangedValueError as ChangedValueError
from tapegrad.errors import FreedGraphError as FreedGraphError
from tapegrad.errors import IllegalTapeError as IllegalTapeError
from tapegrad.errors import InconclusiveError as InconclusiveError
from tapegrad.errors import LostGradientWarning as LostGradientWarning
from tapegrad.errors import NoModeError as NoModeError
from tapegrad.errors import NotConvergedError as NotConvergedError
from tapegrad.errors import RecordingWarning as RecordingWarning
from tapegrad.errors import TracedValueError as TracedValueError
from tapegrad.errors import UnreachedOutputError as UnreachedOutputError
from tapegrad.errors import UnrecordedWayError as UnrecordedWayError
from tapegrad.errors import UnsupportedError as UnsupportedError
from tapegrad.frontend.functions.making.index_tricks import c_ as c_
from tapegrad.frontend.functions.making.index_tricks import r_ as r_
from tapegrad.frontend.functions.shapes.flat_structures import flatten as flatten
from tapegrad.frontend.numpy_face.array_api import VERSIONS as _VERSIONS
from tapegrad.frontend.numpy_face.array_api import __array_namespace_info__ as __array_namespace_info__
from tapegrad.frontend.numpy_face.numpy_protocols import CREATION as _CREATION
from tapegrad.frontend.numpy_face.numpy_protocols import FUNCTIONS as _FUNCTIONS
from tapegrad.frontend.numpy_face.numpy_reexports import MODULES as _MODULES
from tapegrad.frontend.numpy_face.numpy_reexports import OWN as _OWN
from tapegrad.frontend.tensor.anomaly import detect_anomaly as detect_anomaly
from tapegrad.frontend.tensor.inspection import check_tape as check_tape
from tapegrad.frontend.tensor.inspection import tape as tape
from tapegrad.frontend.tensor.modes import no_autodiff as no_autodiff
from tapegrad.frontend.tensor.modes import no_grad as no_grad
from tapegrad.frontend.tensor.tensor import Tensor as Tensor
from tapegrad.frontend.words.other_names import missing as _missing

__version__ = "0.1.0"
__array_api_version__ = _VERSIONS[-1]

pi = _np.pi
e = _np.e
inf = _np.inf
nan = _np.nan
newaxis = None
globals().update(_OWN)

# The functions' names stand in the table of ops and in the modules that define them, and nowhere else.
globals().update(_FUNCTIONS)
globals().update(_CREATION)
for _function in (*_FUNCTIONS.values(), *_CREATION.values()):
    if getattr(_sys.modules.get(_function.__module__), _function.__name__, None) is not _function:
        _function.__module__ = __name__  # made at run time: by its name a pickle finds it here

# Rooms that a process may do without are imported when something of theirs is first asked for.
_ROOMS = (
    "fft",
    "integrate",
    "interop",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "polynomial",
    "signal",
    "sparse",
    "stats",
    "testing",
)
_LATE = {
    "tapegrad.autodiff.custom.custom_op": ("custom_op",),
    "tapegrad.interop.in_place.context": ("in_place_of_scipy",),
    "tapegrad.latent.laplace": ("laplace",),
    "tapegrad.implicit.custom_root": ("custom_argmin", "custom_root"),
    "tapegrad.loops.cond": ("cond", "switch"),
    "tapegrad.loops.scan": ("scan",),
    "tapegrad.loops.while_loop": ("fori_loop", "while_loop"),
    "tapegrad.optimize.solutions.propagation": ("propagate",),
    "tapegrad.testing.check_grads": ("check_grads",),
    "tapegrad.transforms.checkpoint": ("checkpoint",),
    "tapegrad.transforms.compiled.compiled": ("Compiled", "compile", "load"),
    "tapegrad.transforms.grad": ("grad", "value_and_grad"),
    "tapegrad.transforms.jacobians.hessian": ("hessian", "hvp"),
    "tapegrad.transforms.jacobians.jacobian": ("jacfwd", "jacobian", "jacrev"),
    "tapegrad.transforms.jit": ("jit",),
    "tapegrad.transforms.jvp": ("jvp",),
    "tapegrad.transforms.stop_gradient": ("stop_gradient",),
    "tapegrad.transforms.vjp": ("vjp",),
    "tapegrad.transforms.vmap.vmap": ("vmap",),
}
_HOMES = {name: module for module, names in _LATE.items() for name in names}
_lazy.load_later(__name__, *_ROOMS)
_lazy.follow("tapegrad.transforms.compiled.compiled", "tapegrad.interop")

# The modules that are part of the interface; importing ours makes names of the others, too.
_OPEN = ("errors", "special", *_ROOMS, *_MODULES)
__all__ = sorted(
    {
        *(
            name
            for name, value in globals().items()
            if not name.startswith("_") and not isinstance(value, _ModuleType)
        ),
        *_OPEN,
        *_HOMES,
    }
)


def __getattr__(name: str) -> _Any:
    """Return what an import leaves for later; it is a variable of the module from then on.

    For a name that is not there the error says what is written for a function of autograd or JAX.
    """
    if name in _HOMES:
        value = getattr(_importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = getattr(_np, name)
    else:
        raise _missing(__name__, __all__, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [
        *__all__,
        *("__all__", "__array_api_version__", "__array_namespace_info__", "__doc__", "__version__"),
    ]

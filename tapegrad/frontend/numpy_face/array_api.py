"""Functions of the array API standard that NumPy does not have by the same name, and the namespace's description.

The namespace of a Tensor is the package itself: its functions have NumPy's names and arguments, and NumPy's are those
of the standard. What differs is said in the guide, with the reasons, and nothing else does
(`tests/frontend/test_array_api.py`).

One difference cannot be hidden from all clients: that booleans are NumPy's arrays outside of recordings, and that
constants are. `array_api_compat` finds the namespace of NumPy's arrays, and of their subclasses, by their class, and
asks only what is neither for ``__array_namespace__``. So a call with a Tensor and a comparison of it meets two
namespaces, whatever the Tensor says. SciPy calls its own copy of that function through the module, where one that lets
Tensors win takes its place: functions of this package take both.
"""

import functools
import sys
from types import ModuleType
from typing import Any

import numpy as np

from tapegrad.engine.tape.fields.layout import MAX_NDIM
from tapegrad.frontend.conversions.creation import asarray
from tapegrad.frontend.numpy_face.after_import import after_import
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, is_tensor

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
_CPU = "cpu"
_DTYPES = {
    name: np.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float32", "float64", "complex64", "complex128"),
    )
}


def _check_device(device: Any, name: str) -> None:
    if device not in (None, _CPU):
        raise ValueError(f"{name}: there is no device {device!r}; the only one is 'cpu'")


def _namespace(x: Tensor, /, *, api_version: str | None = None) -> Any:
    """Return the namespace of functions that take Tensors: the package."""
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(
            f"version {api_version!r} of the array API standard is not supported; the newest is {VERSIONS[-1]!r}"
        )
    return sys.modules[__name__.partition(".")[0]]


def _let_tensors_win(compat: ModuleType) -> None:
    """Make the namespace of a Tensor that of NumPy's arrays beside it, for clients of a copy of `array_api_compat`."""
    by_class = compat.array_namespace

    @functools.wraps(by_class)
    def array_namespace(*arrays: Any, **options: Any) -> Any:
        if any(map(is_tensor, arrays)):
            arrays = tuple(array for array in arrays if not isinstance(array, np.ndarray | np.generic))
        return by_class(*arrays, **options)

    compat.array_namespace = array_namespace  # type: ignore[attr-defined]


def _device(x: Tensor) -> str:
    """Return where the elements are: always ``'cpu'``."""
    return _CPU


def to_device(x: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """Return the Tensor itself, for there is one device.

    Parameters
    ----------
    device : {'cpu'}
        Device of the elements.
    stream : None
        For devices that have streams.

    Returns
    -------
    Tensor
        The Tensor itself.

    Raises
    ------
    ValueError
        For any other device, and for a stream.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.ones(2)
    >>> x.to_device("cpu") is x
    True
    """
    _check_device(device, "Tensor.to_device")
    if stream is not None:
        raise ValueError("Tensor.to_device: stream must be None, for the device 'cpu' has none")
    return x


def from_dlpack(
    x: Any, /, *, device: Any = None, copy: bool | None = None, constant: bool | None = None
) -> Tensor:
    """Make a Tensor of an array of another library, on the same memory where that is possible.

    Parameters
    ----------
    x : object
        An array with the methods ``__dlpack__`` and ``__dlpack_device__``; of Tensors only what is constant, for the
        protocol carries no gradient.
    device : {None, 'cpu'}, optional
        Device of the elements.
    copy : bool, optional
        If True, copy; if False, raise where a copy is needed; by default copy only there.
    constant : bool, optional
        If True, no gradient flows into the Tensor.

    Returns
    -------
    Tensor
        A leaf of the graph, or a constant. What is said of `asarray` holds for writes into shared memory.

    Raises
    ------
    BufferError
        If the memory cannot be shared or is not that of the processor.
    UnsupportedError
        For Tensors that a gradient can flow back from, and for dtypes that are not supported.

    See Also
    --------
    asarray : Takes arrays of NumPy, numbers and nested sequences.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.from_dlpack(np.array([1.0, 2.0]))
    Tensor([1., 2.])
    """
    _check_device(device, "from_dlpack")
    said: Any = {} if copy is None else {"copy": copy}  # NumPy 2.0 does not know it
    return asarray(np.from_dlpack(x, **said), constant=constant)


class __array_namespace_info__:
    """Capabilities of the namespace in the terms of the array API standard: dtypes, devices, options.

    Examples
    --------
    >>> import tapegrad as tg
    >>> info = tg.__array_namespace_info__()
    >>> info.devices()
    ['cpu']
    """

    def capabilities(self) -> dict[str, Any]:
        """Return what not every library of arrays has.

        Returns
        -------
        dict
            Whether arrays are indexed by booleans, whether shapes may depend on data, and the most dimensions.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.__array_namespace_info__().capabilities()
        {'boolean indexing': True, 'data-dependent shapes': True, 'max dimensions': 32}
        """
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": MAX_NDIM,
        }

    def default_device(self) -> str:
        """Return the device of new Tensors.

        Returns
        -------
        str
            Always ``'cpu'``.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.__array_namespace_info__().default_device()
        'cpu'
        """
        return _CPU

    def devices(self) -> list[str]:
        """Return all devices.

        Returns
        -------
        list of str
            The one that there is.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.__array_namespace_info__().devices()
        ['cpu']
        """
        return [_CPU]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """Return the dtypes that new Tensors have if none is asked for.

        Parameters
        ----------
        device : {None, 'cpu'}, optional
            Of which device.

        Returns
        -------
        dict
            A dtype for each kind.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.__array_namespace_info__().default_dtypes()["integral"]
        dtype('int64')
        """
        _check_device(device, "default_dtypes")
        return {
            "real floating": np.dtype(np.float64),
            "complex floating": np.dtype(np.complex128),
            "integral": np.dtype(np.int64),
            "indexing": np.dtype(np.int64),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype[Any]]:
        """Return the dtypes that a Tensor can have.

        Parameters
        ----------
        device : {None, 'cpu'}, optional
            Of which device.
        kind : str or tuple of str, optional
            Of which kinds, in the fields of ``numpy.isdtype``; all by default.

        Returns
        -------
        dict
            Dtypes by their names.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.__array_namespace_info__().dtypes(kind="real floating")
        {'float32': dtype('float32'), 'float64': dtype('float64')}
        """
        _check_device(device, "dtypes")
        return {name: dtype for name, dtype in _DTYPES.items() if kind is None or np.isdtype(dtype, kind)}


CREATION = {"from_dlpack": from_dlpack}
bind_methods(
    __array_namespace__=_namespace,
    device=property(_device),
    to_device=to_device,
)
after_import("scipy._lib.array_api_compat", _let_tensors_win)

"""Conversion of users' data to arrays of numbers, and the test for arrays whose memory the engine can use."""

import sys
from collections.abc import Collection
from typing import Any, NoReturn

import numpy as np

from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.errors import UnsupportedError
from tapegrad.foreign import is_linear_operator, is_masked, is_pandas, is_sparse, is_sparse_tensor
from tapegrad.frontend.tensor.modes import watch_now

_REFUSED = {"e": "float16", "G": "clongdouble", "g": "longdouble"}
_FLOAT64 = np.dtype(np.float64)
# True once a Tensor of complex numbers was made in this process: functions of real numbers, which refuse them, need not
# ask for the dtype of each operand before that, which takes as long as a small sum.
complex_seen = [False]


def reference_counts(owned: Collection[object]) -> list[int]:
    """Return how many references there are to each object in a container: `UNSHARED` if nothing else has it."""
    return [sys.getrefcount(each) for each in owned]


UNSHARED = reference_counts([object()])[0]  # measured: Python 3.14 counts one less than 3.13


def check_dtype(dtype: np.dtype[Any], what: str, takes_complex: bool = False) -> None:
    """Raise for a dtype that is neither a supported float, nor an integer, nor a boolean.

    With `takes_complex`, complex numbers in double or single precision are supported, too.
    """
    if dtype.kind in "biu":
        return
    if dtype.newbyteorder("=") in DTYPE_CODES:
        if dtype.kind == "c":
            complex_seen[0] = True
            if not takes_complex:
                refuse_complex(dtype, what)
        return
    name = _REFUSED.get(dtype.char, str(dtype))
    if dtype.kind == "O":
        raise UnsupportedError(
            f"{what}: dtype object is not supported; give numbers, arrays and Tensors, or lists and tuples of them:"
            " list(x) if x is an iterator"
        )
    own = "complex128 or complex64" if dtype.kind == "c" else "float64 or float32"
    raise UnsupportedError(
        f"{what}: dtype {name} is not supported; use {own} (integers and booleans are constants)"
    )


def refuse_complex(dtype: np.dtype[Any], what: str) -> NoReturn:
    """Raise for complex numbers where real ones are needed."""
    raise UnsupportedError(
        f"{what}: dtype {dtype} is not supported, real numbers are needed: write abs(z), z.real or z.imag, or"
        " z.view(float) for both parts"
    )


def real_numbers(value: Any, what: str) -> Any:
    """Return a value that NumPy is to put in order; raise for complex numbers, whose order NumPy makes up."""
    dtype = getattr(value, "dtype", None)
    if isinstance(value, list | tuple) and not {float, int}.issuperset(map(type, value)):
        for part in value:
            real_numbers(part, what)
    elif isinstance(value, complex) and dtype is None:
        refuse_complex(np.dtype(np.complex128), what)
    elif getattr(dtype, "kind", None) == "c":
        refuse_complex(np.dtype(dtype), what)
    return value


def refuse_complex_result(dtype: np.dtype[Any], name: str) -> NoReturn:
    """Raise for a complex result that is to have a gradient."""
    other = "give backward a cotangent" if name == "backward" else "pass `holomorphic=True`"
    raise TypeError(
        f"{name}: the result is {dtype}; take `.real`, `abs` or a sum of squares of it, or {other}"
    )


def refuse_subclass(value: Any, what: str) -> None:
    """Raise for an array subclass with its own arithmetic (matrices, masked arrays), which would be lost.

    Lists are searched too, for NumPy would join the contents of their parts.
    """
    kind = type(value)
    if kind is np.ndarray or not isinstance(value, np.ndarray | list | tuple):
        return
    if isinstance(value, list | tuple):
        _refuse_parts(value, what)
        return
    if is_masked(value):
        _refuse_masked(value, what)
    elif kind.__mul__ is not np.ndarray.__mul__ or kind.__array_ufunc__ is not np.ndarray.__array_ufunc__:
        raise UnsupportedError(
            f"{what}: {kind.__name__} has an arithmetic of its own (units, matrix products), which tapegrad does not"
            " follow; pass a plain array, as np.asarray returns"
        )


def refuse_lost_parts(value: Any, dtype: Any, what: str) -> None:
    """Raise for complex numbers that are to be converted to real ones: NumPy drops the imaginary parts."""
    if dtype is not None and type(value) not in (float, int) and np.dtype(dtype).kind in "biuf":
        own = np.asarray(value).dtype
        if own.kind == "c":
            refuse_complex(own, what)


def _refuse_parts(values: Any, what: str) -> None:
    """Raise for an array subclass inside of a list; a long list of numbers is checked at the speed of C."""
    kinds = [kind for kind in set(map(type, values)) if issubclass(kind, np.ndarray | list | tuple)]
    if any(kind is not np.ndarray for kind in kinds):
        for part in values:
            refuse_subclass(part, what)


def _refuse_masked(value: Any, what: str) -> None:
    """Raise for a masked array with masked elements; a recording guards that none is masked."""
    mask = np.ma.getmask(value)
    if np.any(mask):
        raise UnsupportedError(
            f"{what}: {np.count_nonzero(mask)} elements of a masked array are masked, and a Tensor has no mask; leave"
            " them out with m.compressed(), or give them the weight ~m.mask, with m.filled(0.0) for their values"
        )
    if isinstance(mask, np.ndarray):
        watch_now(mask)


def plain(value: Any, what: str) -> np.ndarray:
    """Return a value as an array of numbers.

    Raises
    ------
    UnsupportedError
        For what is no array, for objects and dates, and for arrays with an arithmetic of their own.
    """
    refuse_subclass(value, what)
    array = np.asarray(value)
    if array.dtype.kind not in "biufc" and type(value) is not np.ndarray:
        _refuse_objects(value, array, what)
    return array


def real(value: Any, what: str, dtype: np.dtype[Any] | None = _FLOAT64) -> np.ndarray:
    """Convert a user's data to an array of real numbers: every public function that takes plain data does it here.

    Parameters
    ----------
    value
        An array, a number, nested lists of these, a table of pandas or xarray.
    what
        The function and the argument, for messages.
    dtype
        Dtype of the result, float64 by default; `None` for the dtype of the data.

    Returns
    -------
    numpy.ndarray
        The data themselves, if they are an array of this dtype.

    Raises
    ------
    UnsupportedError
        For what holds something else than real numbers in double or single precision, integers and booleans, and for
        masked arrays in which something is masked.
    """
    array = plain(value, what)
    if array.dtype.kind not in "biufc":
        raise UnsupportedError(
            f"{what}: real numbers are needed, not {type(value).__name__} of dtype {array.dtype}; give floats, arrays"
            " of float64 or float32, or lists of these"
        )
    check_dtype(array.dtype, what)
    return array if dtype is None else array.astype(dtype, copy=False)


def numbers(value: Any, what: str) -> np.ndarray:
    """Convert a user's data to an array of real or complex numbers, in the dtype of the data.

    Raises
    ------
    UnsupportedError
        As `real` does, but for complex numbers.
    """
    array = plain(value, what)
    if array.dtype.kind != "c":
        return real(value, what, None)
    check_dtype(array.dtype, what, takes_complex=True)
    return array


def as_direction(value: Any, what: str, dtype: np.dtype[Any]) -> np.ndarray:
    """Convert a user's tangent or cotangent of values of a dtype to an array; of real ones it must be real.

    Raises
    ------
    UnsupportedError
        As `real`; complex numbers are taken for values that are complex.
    """
    return numbers(value, what) if dtype.kind == "c" else real(value, what, None)


def _refuse_objects(value: Any, array: np.ndarray, what: str) -> None:
    """Raise for objects that NumPy does not convert to numbers, with a hint."""
    if is_sparse_tensor(value):
        raise UnsupportedError(
            f"{what}: a sparse array with computed entries is no array of numbers: write a method or an operator of it,"
            " its entries S.data, or S.toarray()"
        )
    if is_sparse(value):
        raise UnsupportedError(
            f"{what}: a sparse matrix and a Tensor have the operators S @ t, S * t, S / t, S + t and S - t; write"
            " S.toarray() to compute with all elements"
        )
    if is_linear_operator(value):
        raise UnsupportedError(
            f"{what}: a LinearOperator cannot be differentiated: write it with tapegrad's"
            " functions, or make it a custom op with rmatvec as its vjp (tapegrad.custom_op)"
        )
    if is_pandas(value):
        raise UnsupportedError(
            f"{what}: a {type(value).__name__} of dtype {getattr(value, 'dtype', array.dtype)} holds something else"
            " than numbers, or missing values; write s.to_numpy(float, na_value=np.nan) for numbers, s.cat.codes for"
            " categories, df[columns] for the columns with numbers"
        )


def is_plain(array: np.ndarray) -> bool:
    """Return whether the engine can use the array's memory: it is aligned, and its elements do not overlap."""
    if not array.flags.aligned or not array.dtype.isnative:
        return False
    if array.flags.c_contiguous:
        return True
    reach = 0
    for stride, extent in sorted(
        (abs(s), e) for s, e in zip(array.strides, array.shape, strict=True) if e > 1
    ):
        if stride <= reach:
            return False
        reach += stride * (extent - 1)
    return True


def is_same_memory(array: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two arrays have the same elements at the same addresses."""
    layouts = [(a.ctypes.data, a.shape, a.strides, a.dtype) for a in (array, other)]
    return layouts[0] == layouts[1]


def can_change(array: np.ndarray) -> bool:
    """Return whether an array's memory can be written to, directly or through its base."""
    return array.flags.writeable or not array.flags.owndata


def equal_bits(array: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two arrays of one shape and dtype are equal to the bit."""
    if array.dtype.kind == "c":
        parts = "real", "imag"
        return all(equal_bits(getattr(array, part), getattr(other, part)) for part in parts)
    bits = f"u{array.itemsize}"  # no copies of large arrays
    return np.array_equal(array.view(bits), other.view(bits))

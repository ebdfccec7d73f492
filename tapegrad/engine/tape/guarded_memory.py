"""An allocator for finding errors: every block lies between pages that cannot be touched.

A block ends where the page after it begins, but for what it lacks to a multiple of eight bytes, and the field before it
holds its size::

    | no access | ...  size  block | no access |

New memory is full of 0xff, which is NaN as a float and -1 as an integer. What is freed cannot be touched any more, and
its addresses are not given out again.
"""

import mmap as system

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.inlining import external_function
from tapegrad.engine.kernels.language.raw_memory import load_i64, memcpy, memset, store_i64
from tapegrad.engine.runtime.operating_system import mapping

_PAGE = system.PAGESIZE
_FRESH, _IN_PLACE = mapping()
_NO_ACCESS, _ACCESS = 0, system.PROT_READ | system.PROT_WRITE
_mmap = external_function("mmap", "int64", "int64", "int64", "int32", "int32", "int32", "int64")
_mprotect = external_function("mprotect", "int32", "int64", "int64", "int32")


@inline_njit
def _rounded(bytes_, unit):
    return (bytes_ + unit - 1) // unit * unit


@inline_njit
def _new(bytes_):
    """Allocate a block of zeros; 0 when memory or the number of mappings is short."""
    size = _rounded(bytes_, 8)
    inner = _rounded(size + 8, _PAGE)
    start = _mmap(0, inner + 2 * _PAGE, _NO_ACCESS, _FRESH, -1, 0)
    if start == -1 or _mprotect(start + _PAGE, inner, _ACCESS) != 0:
        return 0
    block = start + _PAGE + inner - size
    store_i64(block - 8, 0, bytes_)
    return block


@inline_njit
def _new_filled(bytes_):
    block = _new(bytes_)
    if block != 0:
        memset(block, 0xFF, bytes_)
    return block


@inline_njit
def _let_go(block):
    """Make a block inaccessible for good, and give its pages back."""
    if block != 0:
        start = (block - 8) // _PAGE * _PAGE
        inner = _rounded(_rounded(load_i64(block - 8, 0), 8) + 8, _PAGE)
        _mmap(start, inner, _NO_ACCESS, _IN_PLACE, -1, 0)


@inline_njit
def _moved(block, bytes_):
    """Move a block to one of another size with the same contents."""
    fresh = _new_filled(bytes_)
    if block != 0 and fresh != 0:
        memcpy(fresh, block, min(bytes_, load_i64(block - 8, 0)))
        _let_go(block)
    return fresh


# --- as the C library has them ---------------------------------------------------------------------------------


def fenced_malloc(bytes_):
    """``malloc``."""
    return _new_filled(bytes_)


def fenced_calloc(count, bytes_):
    """``calloc``."""
    return _new(count * bytes_)


def fenced_realloc(block, bytes_):
    """``realloc``."""
    return _moved(block, bytes_)


def fenced_free(block):
    """``free``."""
    _let_go(block)
    return 0


# --- as NumPy has them, with a context before the other arguments -----------------------------------------------


def array_malloc(context, bytes_):
    """``malloc`` of a handler of NumPy's."""
    return _new_filled(bytes_)


def array_calloc(context, count, bytes_):
    """``calloc`` of a handler of NumPy's."""
    return _new(count * bytes_)


def array_realloc(context, block, bytes_):
    """``realloc`` of a handler of NumPy's."""
    return _moved(block, bytes_)


def array_free(context, block, bytes_):
    """``free`` of a handler of NumPy's."""
    _let_go(block)
    return 0

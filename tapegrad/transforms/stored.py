"""A compiled function from a file, as Python calls it."""

import ctypes
from typing import Any

import numpy as np

from tapegrad.engine.kernels.status import GUARD_FAILED
from tapegrad.engine.sweep import handle_words
from tapegrad.errors import UnrecordedWayError
from tapegrad.program.archive.functions import StoredFunction
from tapegrad.program.signature import Arguments, flatten_args, has_tensor
from tapegrad.transforms.frozen import check_look, no_way
from tapegrad.transforms.jit import error_of

_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


class Stored:
    """What calls the programs of a file.

    Parameters
    ----------
    content
        The file's bytes.
    """

    def __init__(self, content: bytes) -> None:
        self._stored = StoredFunction(content)
        self.handle = self._stored.handle
        self.__name__ = self.__qualname__ = self._stored.name
        self._title = f"the compiled {self.__name__}"
        self._expected: Arguments = flatten_args(self._stored.arguments.example(), {})
        address = ctypes.c_int64.from_address(self.handle.address + 8 * handle_words.ENTRY).value
        self._run = _ENTRY(address)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if has_tensor(args, kwargs):
            raise TypeError(
                f"{self._title} takes arrays and numbers, not Tensors; it comes from a file, and has no function"
            )
        arguments = flatten_args(args, kwargs)
        check_look(self._title, (self._expected, ()), (arguments, ()))
        results = [np.empty(view.shape, view.dtype) for view in self.handle.results]
        words = np.array([array.ctypes.data for array in (*arguments.arrays, *results)], np.int64)
        status = self._run(self.handle.address, words.ctypes.data)
        if status == GUARD_FAILED:
            raise UnrecordedWayError(no_way(self._title))
        if status != 0:
            raise error_of(status)
        return self._stored.results.with_arrays(results)

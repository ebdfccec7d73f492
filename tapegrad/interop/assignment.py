"""Assignment of the arguments of a compiled function to the parameters of a C signature."""

from typing import NamedTuple

import numpy as np

from tapegrad.engine.tape.fields.view import View
from tapegrad.interop.signatures import (
    EITHER,
    INPUT,
    INPUT_SIZE,
    RESULT,
    RESULT_SIZE,
    VALUE,
    CSignature,
    Parameter,
)
from tapegrad.transforms.compiled.compiled import Compiled

_DTYPES = {
    "double": np.dtype(np.float64),
    "float": np.dtype(np.float32),
    "double complex": np.dtype(np.complex128),
    "float complex": np.dtype(np.complex64),
}


class MisfitError(ValueError):
    """Raised where a compiled function cannot be called by a signature."""


class Assignment(NamedTuple):
    """Assignment of an argument, or of its size, to each parameter; -1 for none. And the argument that is returned."""

    arguments: tuple[int, ...]
    returned: int


class _Left:
    """The arguments that no parameter has been found for: numbers of inputs, of results that are numbers, of arrays."""

    def __init__(self, compiled: Compiled) -> None:
        self._views = [*compiled.inputs, *compiled.results]
        first = len(compiled.inputs)
        self.inputs = list(range(first))
        self.numbers = [k for k in range(first, len(self._views)) if self._views[k].ndim == 0]
        self.arrays = [k for k in range(first, len(self._views)) if self._views[k].ndim > 0]

    def view(self, k: int) -> View:
        """Return the view of an argument."""
        return self._views[k]

    def take(self, parameter: Parameter) -> int:
        """Return the argument of a parameter."""
        if parameter.role == INPUT or (parameter.role == EITHER and self.inputs):
            listed = self.inputs
        elif parameter.role == VALUE:
            listed = self.numbers
        else:
            listed = self.arrays or self.numbers
        if not listed:
            raise MisfitError(f"there is nothing in it that {parameter.name!r} could be")
        k = listed.pop(0)
        view = self._views[k]
        if view.dtype != _DTYPES[parameter.kind]:
            raise MisfitError(
                f"{parameter.name!r} is of type {parameter.kind}, but what it stands for {view.dtype}"
            )
        if not parameter.is_pointer and view.ndim > 0:
            raise MisfitError(
                f"{parameter.name!r} is one number, but what it stands for an array of {view.shape}"
            )
        return k


def assign(compiled: Compiled, signature: CSignature) -> Assignment:
    """Assign the parameters of a signature to the arguments of a compiled function.

    Raises
    ------
    MisfitError
        If that cannot be done.
    """
    left = _Left(compiled)
    sizes = {
        INPUT_SIZE: _first_array(compiled.inputs, 0),
        RESULT_SIZE: _first_array(compiled.results, len(left.inputs)),
    }
    returned = -1
    if signature.returned in _DTYPES:
        if not left.numbers:
            raise MisfitError(f"it returns {signature.returned}, but no result is one number")
        returned = left.numbers.pop(0)
        if left.view(returned).dtype != _DTYPES[signature.returned]:
            raise MisfitError(
                f"it returns {signature.returned}, but the result is {left.view(returned).dtype}"
            )
    arguments = tuple(
        left.take(parameter)
        if parameter.role in (INPUT, RESULT, EITHER, VALUE)
        else sizes.get(parameter.role, -1)
        for parameter in signature.parameters
    )
    if left.inputs:
        raise MisfitError(f"it has no parameter for {len(left.inputs)} of the inputs")
    return Assignment(arguments, returned)


def _first_array(views: list[View], first: int) -> int:
    """Return the first argument with dimensions, the first of all if there is none."""
    return first + next((k for k, view in enumerate(views) if view.ndim > 0), 0)

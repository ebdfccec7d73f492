"""Other packages, imported when they are asked for."""

import importlib
import importlib.metadata
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout
from tapegrad.frontend.tensor.modes import errstate
from tapegrad.optimize.flat import FlatScalar, layout_of, raveled_numbers
from tapegrad.pytree import paths
from tapegrad.transforms.compiled.compiled import Compiled, compile
from tapegrad.transforms.jit import jit

Errors = Literal["raise", "nan"]


def needed(module: str, extra: str) -> Any:
    """Import a module of another package, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        raise ModuleNotFoundError(
            f"tapegrad.interop.{extra} needs the package {error.name}: pip install"
            f" '{_requirement(error.name, extra)}'",
            name=error.name,
        ) from None


def _requirement(package: str, extra: str) -> str:
    """Return the version of a package that an extra of tapegrad asks for, as pip takes it."""
    try:
        listed = importlib.metadata.requires("tapegrad") or []
    except importlib.metadata.PackageNotFoundError:  # a folder on the path, not installed
        listed = []
    for each in listed:
        requirement, _, marker = each.partition(";")
        if extra in marker and re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0] == package:
            return requirement.strip()
    return package


class Vector:
    """A function of a structure of arrays and floats, as one of a vector.

    Parameters
    ----------
    function
        The function. It returns a number.
    x0
        An example of its argument.
    ways
        Further examples, for other branches of it.
    errors
        What a failure of linear algebra is, an error or nan (see `linalg.errstate`); by default what it is around.
    """

    def __init__(
        self, function: Callable[..., Any], x0: Any, ways: Sequence[Any] = (), errors: Errors | None = None
    ) -> None:
        self.layout: LeafLayout = layout_of(x0)
        self.function = FlatScalar(jit(with_errors(function, errors)), self.layout)
        self.examples = [raveled_numbers(x, self.layout) for x in (x0, *ways)]
        self.names = [_name(path) for path in paths(x0)]

    @property
    def x0(self) -> np.ndarray:
        """The first example."""
        return self.examples[0]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each leaf by its name."""
        return dict(zip(self.names, self.layout.shapes, strict=True))

    @property
    def element_names(self) -> list[str]:
        """A name for each element of the vector."""
        return _numbered(self.names, self.layout.shapes)

    def compiled(self, transform: Callable[[Any], Any] = lambda function: function) -> Compiled:
        """Compile a transform of the function."""
        return compile(transform(self.function), *self.examples)


def with_errors(function: Callable[..., Any], errors: Errors | None) -> Callable[..., Any]:
    """Return a function whose failures of linear algebra are errors or nan; itself for `None`."""
    return function if errors is None else errstate(errors)(function)


def listed(shapes: Mapping[str, tuple[int, ...]]) -> str:
    """List names with their shapes: ``mu, raw (8,)``."""
    return ", ".join(f"{name} {shape}" if shape else name for name, shape in shapes.items())


def element_names(structure: Any, shapes: Sequence[tuple[int, ...]], root: str) -> list[str]:
    """Return a name for each element of a structure: those of an array in no structure begin with the root."""
    return _numbered([_name(path, root) for path in paths(structure)], shapes)


def _numbered(names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> list[str]:
    """Return the names of the elements of leaves: a, a_0_1."""
    found = []
    for name, shape in zip(names, shapes, strict=True):
        found += [name + "".join(f"_{k}" for k in index) for index in np.ndindex(shape)]
    return found


def _name(path: str, root: str = "x") -> str:
    """Return a name for the leaf at the end of a path: a, a_0."""
    parts = path.replace("]", "").replace("'", "").split("[")
    return "_".join(parts[1:]) or root

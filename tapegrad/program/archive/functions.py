"""A compiled function in a file: its specializations, and the structures of its arguments and results."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.engine.tape.fields.view import View
from tapegrad.program.archive import container
from tapegrad.program.archive.fields import field, refuse_unless
from tapegrad.program.archive.pack import Constants
from tapegrad.program.archive.specializations import packed_specialization, unpacked_specialization
from tapegrad.program.archive.structures import Tree, argument, result, tree_of
from tapegrad.program.archive.unpack import constants_of
from tapegrad.program.programs.handle import Handle, Specialization

_MAX_SPECIALIZATIONS = 1000


def packed_function(
    name: str, example: tuple[Any, ...], results: Sequence[Any], specializations: Sequence[Specialization]
) -> bytes:
    """Return the bytes of a file that holds a function.

    Parameters
    ----------
    name
        Name of the function.
    example
        Its arguments.
    results
        Results of each specialization, as examples.
    specializations
        The specializations.

    Raises
    ------
    TypeError, ValueError
        If a file cannot hold it.
    """
    trees = [tree_of(value, result, "the results") for value in results]
    if any(tree != trees[0] for tree in trees):
        raise TypeError(f"save: the specializations of {name} return different structures; a file holds one")
    constants = Constants()
    parts = [packed_specialization(specialization, constants, name) for specialization in specializations]
    header = {
        "name": name,
        "arguments": tree_of(example, argument, "the arguments"),
        "results": trees[0],
        "ways": [each for each, _ in parts],
        "constants": constants.records,
    }
    arrays = {f"way{w}.{key}": array for w, (_, each) in enumerate(parts) for key, array in each.items()}
    arrays |= {f"constant{k}": array for k, array in enumerate(constants.arrays)}
    return container.written(header, arrays)


class StoredFunction:
    """A compiled function from the bytes of a file.

    Attributes
    ----------
    name
        What it is called.
    arguments, results
        What they look like.
    handle
        Its programs, made here.
    """

    def __init__(self, content: bytes) -> None:
        header, arrays = container.read(content)
        self.name = field(header, "name", str)
        self.arguments = Tree(field(header, "arguments", dict), "arguments")
        refuse_unless(self.arguments.is_tuple, "the arguments are no tuple")
        self.results = Tree(field(header, "results", dict), "results")
        constants = constants_of(header, arrays)
        specializations = field(header, "ways", list)
        refuse_unless(0 < len(specializations) <= _MAX_SPECIALIZATIONS, f"{len(specializations)} ways")
        inputs, results = (
            [View.in_c_order(shape, dtype) for shape, dtype in tree.specs]
            for tree in (self.arguments, self.results)
        )
        made = [
            unpacked_specialization(
                _record(specialization), _part(arrays, f"way{number}."), constants, (inputs, results)
            )
            for number, specialization in enumerate(specializations)
        ]
        self.handle = Handle(made, inputs, results)


def _record(specialization: Any) -> dict[str, Any]:
    refuse_unless(type(specialization) is dict, "a specialization is no record")
    found: dict[str, Any] = specialization
    return found


def _part(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}

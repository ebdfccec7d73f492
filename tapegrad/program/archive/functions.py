"""A compiled function in a file: its specializations, and the structures of its arguments and results."""

from collections.abc import Sequence
from typing import Any

from tapegrad.engine.tape.fields.view import View
from tapegrad.program.archive import container
from tapegrad.program.archive.contents import Contents, ReadContents
from tapegrad.program.archive.fields import field, refuse_unless
from tapegrad.program.archive.specializations import packed_specialization, unpacked_specialization
from tapegrad.program.archive.structures import Tree, argument, result, tree_of
from tapegrad.program.programs.handle import Handle, Specialization
from tapegrad.program.streams.spec import FORWARD

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
    contents = Contents(name, any(each.program.spec.kind != FORWARD for each in specializations))
    parts = [packed_specialization(specialization, contents) for specialization in specializations]
    header = {
        "name": name,
        "arguments": tree_of(example, argument, "the arguments"),
        "results": trees[0],
        "ways": [each for each, _ in parts],
        **contents.header,
    }
    arrays = {f"way{w}.{key}": array for w, (_, each) in enumerate(parts) for key, array in each.items()}
    return container.written(header, arrays | contents.arrays)


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
        contents = ReadContents(header, arrays)
        specializations = field(header, "ways", list)
        refuse_unless(0 < len(specializations) <= _MAX_SPECIALIZATIONS, f"{len(specializations)} ways")
        inputs, results = (
            [View.in_c_order(shape, dtype) for shape, dtype in tree.specs]
            for tree in (self.arguments, self.results)
        )
        made = [
            unpacked_specialization(
                _record(specialization), contents.arrays_of(f"way{number}."), contents, (inputs, results)
            )
            for number, specialization in enumerate(specializations)
        ]
        self.handle = Handle(made, inputs, results)


def _record(specialization: Any) -> dict[str, Any]:
    refuse_unless(type(specialization) is dict, "a specialization is no record")
    found: dict[str, Any] = specialization
    return found

"""Reads and writes at positions: slices, numbers, arrays of integers and masks."""

from typing import Any

from tapegrad.interop.packages import needed
from tapegrad.interop.pytensor_graphs.dispatch import Expression, register_texts, tapegrad_funcify
from tapegrad.interop.pytensor_graphs.functions import add_at, add_once_at, fill_diagonal, set_at
from tapegrad.interop.pytensor_graphs.generations import MovedNames

_basic: Any = needed("pytensor.tensor.basic", "pytensor")
_extra: Any = needed("pytensor.tensor.extra_ops", "pytensor")
_graph: Any = needed("pytensor.graph.type", "pytensor")
_other: Any = needed("pytensor.tensor.type_other", "pytensor")
_subtensor: Any = MovedNames("pytensor.tensor.subtensor")


register_texts(
    {_other.MakeSlice: "slice({0}, {1}, {2})", _extra.FillDiagonal: "<fill_diagonal>({0}, {1})"},
    fill_diagonal=fill_diagonal,
)


@tapegrad_funcify.register(_subtensor.Subtensor)
@tapegrad_funcify.register(_subtensor.AdvancedSubtensor)
@tapegrad_funcify.register(_subtensor.AdvancedSubtensor1)
def _read(op: Any, node: Any = None, **_: Any) -> Expression:
    return Expression(f"{{0}}[{_index(op, 1, len(node.inputs))}]")


@tapegrad_funcify.register(_subtensor.IncSubtensor)
@tapegrad_funcify.register(_subtensor.AdvancedIncSubtensor)
@tapegrad_funcify.register(_subtensor.AdvancedIncSubtensor1)
def _write(op: Any, node: Any = None, **_: Any) -> Expression:
    basic = isinstance(op, _subtensor.IncSubtensor)
    if op.set_instead_of_inc:
        name, function = "set_at", set_at
    elif basic or getattr(op, "ignore_duplicates", False):
        name, function = "add_once_at", add_once_at
    else:
        name, function = "add_at", add_at
    index = _index(op, 2, len(node.inputs))
    return Expression(f"<{name}>({{0}}, {{1}}, np.s_[{index}])", {name: function})


@tapegrad_funcify.register(_basic.Nonzero)
def _nonzero(op: Any, node: Any = None, **_: Any) -> Expression:
    return Expression("np.nonzero({0})" + ("[0]" if len(node.outputs) == 1 else ""))


def _index(op: Any, first: int, stop: int) -> str:
    """Return the text between the brackets: the entries of an Op with its operands from `first` on."""
    entries = getattr(op, "idx_list", None)
    operands = (f"{{{j}}}" for j in range(first, stop))
    if entries is None:
        return ", ".join(operands) or "()"

    def text(entry: Any) -> str:
        if isinstance(entry, slice):
            start, end, step = (text(each) for each in (entry.start, entry.stop, entry.step))
            return f"{start}:{end}" + (f":{step}" if step else "")
        if entry is None:
            return ""
        if isinstance(entry, _graph.Type | int) and not isinstance(entry, bool):
            # in PyTensor 2.38 an entry is a type, or the position of its operand among the indices
            return next(operands) if isinstance(entry, _graph.Type) else f"{{{first + entry}}}"
        return str(entry)

    return ", ".join(text(entry) for entry in entries) or "()"

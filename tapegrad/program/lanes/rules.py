"""How each kind of instruction is widened.

Loops over elements take the lanes as one more dimension. Where parameters say where elements lie, they are stretched
with them. What neither of that is right for runs lane by lane, on buffers in which each lane is whole.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad.engine import kernel_table
from tapegrad.engine.tape_entries import Instruction
from tapegrad.engine.tape_view import TapeView
from tapegrad.ops.params import (
    CsrMatmulParams,
    CsrTransposedMatmulParams,
    DeterminedParams,
    EmbedParams,
    GatherParams,
    Region,
    ScatterAddParams,
    ScatterWriteParams,
    WriteParams,
    read,
)
from tapegrad.program.lanes.layout import FIRST, LAST, Layout
from tapegrad.program.lanes.products import matmul
from tapegrad.program.lanes.widening import Widened, Widening

Rule = Callable[[Widening, Instruction], None]


def widened(recording: Any, tape: TapeView, batched: Sequence[bool], lanes: int) -> Widened:
    """The recording of one instance over lanes.

    Parameters
    ----------
    recording, tape
        The recording, and what passes have made of it.
    batched
        For each input whether it differs between the lanes.
    lanes
        How many there are.
    """
    made = Widening(recording, tape, batched, lanes)
    for i in tape.live:
        each = tape.instructions[i]
        if made.concerns(i):
            row = kernel_table.row(each.op)
            _RULES.get(row.name, _KINDS[row.kind])(made, each)
        else:
            made.keep(i)
    return made.finished()


# --- by geometry -----------------------------------------------------------------------------------------------------


def _by_geometry(behind: int) -> Rule:
    """Lanes are one more dimension of the loops, in front of the last `behind` ones."""

    def rule(made: Widening, each: Instruction) -> None:
        operands = [made.view(slot, _read(made, slot), behind) for slot in each.operands]
        made.emit(each, made.view(each.result, made.result(each.result), behind), operands)

    return rule


def _read(made: Widening, slot: int) -> int:
    """The buffer that loops read a slot in: without lanes, or with lanes last."""
    return made.buffer(slot, LAST) if made.has_lanes(slot) else made.buffer(slot)


# --- by parameters ---------------------------------------------------------------------------------------------------


def _region(region: Region, buffer: Layout, other: Layout, itemsize: int) -> Region:
    """A region in all lanes of a buffer that has them last."""
    return Region(
        buffer.stretched(region.offset),
        (*region.extents, buffer.lanes),
        (*map(buffer.stretched, region.strides), buffer.step(itemsize)),
        (*map(other.stretched, region.other_strides), other.step(itemsize)),
    )


def _write(made: Widening, each: Instruction) -> None:
    params, (old, value) = read(WriteParams, each.params), each.operands
    itemsize = made.tape.slots[old].itemsize
    before, source = made.buffer(old, LAST), _read(made, value)
    target = made.result(each.result)
    layout = made.layout(target)
    region = _region(params.region, layout, made.layout(source), itemsize)
    slots = made.view(old, before), made.view(value, source)
    made.emit(each, made.view(each.result, target), slots, WriteParams(params.total * layout.lanes, region))


def _embed(made: Widening, each: Instruction) -> None:
    params = read(EmbedParams, each.params)
    itemsize = made.tape.slots[each.result].itemsize
    sources = [_read(made, slot) for slot in each.operands]
    target = made.result(each.result)
    layout = made.layout(target)
    regions = tuple(
        _region(region, layout, made.layout(source), itemsize)
        for region, source in zip(params.regions, sources, strict=True)
    )
    slots = [made.view(slot, source) for slot, source in zip(each.operands, sources, strict=True)]
    made.emit(each, made.view(each.result, target), slots, EmbedParams(params.total * layout.lanes, regions))


def _rows(record: Any, field: str, listed: Sequence[int]) -> Rule:
    """Rows become longer by the lanes, where the operands that say which rows have none; otherwise lane by lane."""

    def rule(made: Widening, each: Instruction) -> None:
        others = [slot for j, slot in enumerate(each.operands) if j not in listed]
        alike = all(map(made.has_lanes, others))
        if not alike or any(made.has_lanes(each.operands[j]) for j in listed):
            _by_lane(made, each)
            return
        params = read(record, each.params)
        slots = [
            slot if j in listed else made.view(slot, made.buffer(slot, LAST))
            for j, slot in enumerate(each.operands)
        ]
        target = made.result(each.result)
        longer = {field: getattr(params, field) * made.layout(target).lanes}
        made.emit(each, made.view(each.result, target), slots, params._replace(**longer))

    return rule


def _scatter_write(made: Widening, each: Instruction) -> None:
    """Values that are each written to one row are rows as well; one value for all elements is written lane by lane."""
    spread = read(ScatterWriteParams, each.params).value_stride == 0
    (_by_lane if spread else _rows(ScatterWriteParams, "length", (2,)))(made, each)


def _determined(made: Widening, each: Instruction) -> None:
    params, (values, truths) = read(DeterminedParams, each.params), each.operands
    buffers = made.buffer(values, LAST), _read(made, truths)
    target = made.result(each.result)
    count = made.layout(target).lanes
    # Of truths that all lanes share the view has them again and again; each is looked at once.
    looked_at = (
        (made.view(truths, buffers[1]), params.truths * count)
        if made.has_lanes(truths)
        else (truths, params.truths)
    )
    result = made.view(each.result, target)
    widened_params = DeterminedParams(params.size * count, looked_at[1])
    made.emit(each, result, (made.view(values, buffers[0]), looked_at[0]), widened_params)


# --- stacks of matrices ----------------------------------------------------------------------------------------------


def _stacked(made: Widening, each: Instruction) -> None:
    """The matrices of all lanes are one stack, where each lane's are all of a buffer; otherwise lane by lane."""
    record: Any = kernel_table.row(each.op).params
    params = read(record, each.params)
    several = params.matrices > 1 and getattr(params, "stride", 1) == 0
    if several or not all(map(made.is_whole, (*each.operands, each.result))):
        _by_lane(made, each)
        return
    operands = [made.stack(slot, made.buffer(slot, FIRST)) for slot in each.operands]
    target = made.result(each.result, FIRST)
    more = {"matrices": params.matrices * made.lanes}
    if hasattr(params, "stride"):
        more["stride"] = 1
    made.emit(each, made.stack(each.result, target), operands, params._replace(**more))
    made.copy_back(each.result, target)


# --- lane by lane ----------------------------------------------------------------------------------------------------


def _by_lane(made: Widening, each: Instruction) -> None:
    """The instruction itself, for one lane after another. What is written in place has lanes already before."""
    in_place = kernel_table.row(each.op).in_place
    operands = [
        made.first_lane(slot, made.buffer(slot, FIRST))
        if made.has_lanes(slot) or (in_place and j == 0)
        else slot
        for j, slot in enumerate(each.operands)
    ]
    target = made.result(each.result, FIRST)
    made.emit_by_lane(each, made.first_lane(each.result, target), operands)
    made.copy_back(each.result, target)


def _guard(made: Widening, each: Instruction) -> None:
    """A guard writes nothing: its result stays what it is."""
    (guarded,) = each.operands
    made.emit_by_lane(each, each.result, [made.first_lane(guarded, made.buffer(guarded, FIRST))])


_KINDS: dict[str, Rule] = {
    "elementwise": _by_geometry(0),
    "broadcast_sum": _by_geometry(0),
    "reduction": _by_geometry(1),
    "scan": _by_geometry(1),
    "matmul": matmul,
    "opaque": _by_lane,
    "guard": _guard,
    "callback": _by_lane,
}
_STACKS = ("inv", "cholesky", "det", "expm", "sqrtm", "lu", "lu_solve", "solve_triangular", "lu_triangles")
_RULES: dict[str, Rule] = {
    "write": _write,
    "embed": _embed,
    "gather": _rows(GatherParams, "length", (1,)),
    "scatter_add": _rows(ScatterAddParams, "length", (1,)),
    "scatter_write": _scatter_write,
    "csr_matmul": _rows(CsrMatmulParams, "width", (1, 2)),
    "csr_transposed_matmul": _rows(CsrTransposedMatmulParams, "width", (1, 2)),
    "determined": _determined,
    **dict.fromkeys(_STACKS, _stacked),
}

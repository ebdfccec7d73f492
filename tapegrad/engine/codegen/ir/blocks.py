"""The loop of an elementwise kernel: over blocks of its lines, and in a block over vectors.

Where every line is adjacent in memory, or what is read is a single element, the whole loop is one block, computed
where it lies. Otherwise blocks of `BLOCK` elements are packed into scratch memory before, and brought to their places
after. A single element needs no loop of its own: a masked load gives what its mask leaves out.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.complex_values import (
    ComplexValue,
    Number,
    as_complex,
    choose,
    copies,
    interleaved,
    parts_of,
    separated,
    twice,
)
from tapegrad.engine.codegen.ir.lines import call_for
from tapegrad.engine.codegen.ir.memory import (
    POINTER,
    Cotangent,
    Line,
    element_at,
    halvings,
    load,
    moved,
    scratch,
    store,
)
from tapegrad.engine.codegen.ir.operations import first_lane, shuffled
from tapegrad.engine.codegen.ir.sums import Sum, add_to_parts
from tapegrad.engine.codegen.ir.types import I64, Type
from tapegrad.engine.kernels.lines.accumulate import BLOCK

_BOOLEAN = Type("i1")


@dataclass
class ElementBlock:
    """A block of a line: where its elements are, and what stands for them where they are a single one."""

    at: Value
    element: Type
    several: Value | None = None
    single: Number | None = None
    everywhere: Value | None = None  # one element that stands for all
    old: tuple[Value, Value] | None = None  # where what is added to is, and what the index is masked with
    sums: tuple[Value, ...] = ()  # where the partial sums are, of complex numbers those of each part


class BlockLoop:
    """The loop over blocks.

    Parameters
    ----------
    whole
        Whether all of the loop may be one block; not where library loops take scratch memory.
    """

    def __init__(
        self,
        body: Body,
        count: Value,
        reads: Mapping[str, Line],
        writes: Mapping[str, Line],
        cotangents: Mapping[str, Cotangent] | None = None,
        whole: bool = True,
    ) -> None:
        self.body, self.count = body, count
        self._reads, self._writes, self._cotangents = reads, writes, cotangents or {}
        self._whole = whole
        self._zero = body.constant(I64, 0)
        self._targets = {name: to.line for name, to in self._cotangents.items() if not to.summed}
        lines = {**reads, **writes, **self._targets}
        self._room = {name: scratch(body, line.element, BLOCK) for name, line in lines.items()}
        self._sums = {
            name: [(Sum(body), part) for part in to.parts()]
            for name, to in self._cotangents.items()
            if to.summed
        }
        self._fits = self._whether_it_fits()
        self._blocks: dict[str, ElementBlock] = {}
        self.n, self.start = count, self._zero

    def temporary(self, name: str, element: Type) -> None:
        """Room for a block of values in between."""
        self._room[name] = scratch(self.body, element, BLOCK)
        self._blocks[name] = ElementBlock(self._room[name], element)

    def _whether_it_fits(self) -> Value:
        fits = self.body.constant(_BOOLEAN, 1)
        for line in self._reads.values():
            fits = fits & (line.stride.equal(line.element.bytes) | line.stride.equal(0))
        for line in (*self._writes.values(), *self._targets.values()):
            fits = fits & line.stride.equal(line.element.bytes)
        return fits | self.count.equal(1)

    @contextlib.contextmanager
    def each(self) -> Iterator[None]:
        """Around what is to be done with each block."""
        body, block = self.body, self.body.constant(I64, BLOCK)
        length = body.either(self._fits, self.count, block) if self._whole and not self._sums else block
        with body.loop(self._zero, self.count, length) as start:
            left = self.count - start
            self.start = start
            self.n = body.either(left < length, left, length)
            self._open()
            yield
            self._close()
        for each, part in self._every_sum():
            each.bring_to(part)

    def _every_sum(self) -> Iterator[tuple[Sum, Cotangent]]:
        return itertools.chain.from_iterable(self._sums.values())

    # --- before and after a block -----------------------------------------------------------------------------------

    def _open(self) -> None:
        starts = {name: moved(line.base, self.start * line.stride) for name, line in self._reads.items()}
        packed = self._packed(starts)
        for name, line in self._reads.items():
            several = self.body.splat(line.stride.unequal(0))
            single = copies(load(line.base, line.element))
            self._blocks[name] = ElementBlock(packed[name], line.element, several, single)
        for name, line in self._writes.items():
            self._blocks[name] = ElementBlock(self._target(name, line), line.element)
        for name, to in self._cotangents.items():
            self._blocks[name] = self._block_of(name, to)

    def _block_of(self, name: str, to: Cotangent) -> ElementBlock:
        """Describe a block of a cotangent; in scratch memory nothing is kept."""
        body = self.body
        if to.summed:
            for each, _ in self._sums[name]:
                each.begin()
            sums = tuple(each.parts for each, _ in self._sums[name])
            return ElementBlock(to.line.base, to.line.element, sums=sums)
        target = self._target(name, to.line)
        kept = (self._fits | to.line.stride.equal(to.line.element.bytes)) & ~to.stored
        everywhere = body.either(kept, body.constant(I64, -1), self._zero)
        nothings = body.nothings(to.line.element)
        return ElementBlock(target, to.line.element, old=(body.either(kept, target, nothings), everywhere))

    def _packed(self, starts: dict[str, Value]) -> dict[str, Value]:
        """Return where the elements of a block that are read are adjacent."""
        body, before = self.body, self.body.block
        inside, after = body.fresh("pack"), body.fresh("packed")
        body.do(f"br {self._fits}, label %{after}, label %{inside}")
        body.begin(inside)
        packed = {name: self._call_pack(name, start) for name, start in starts.items()}
        body.do(f"br label %{after}")
        body.begin(after)
        return {
            name: body.phi(POINTER, **{before: starts[name], inside: address})
            for name, address in packed.items()
        }

    def _call_pack(self, name: str, start: Value) -> Value:
        line = self._reads[name]
        text = call_for("ptr", "pack", line.element, start, line.stride, self.n, self._room[name])
        return self.body.load(POINTER, text)

    def _target(self, name: str, line: Line) -> Value:
        here = self._fits | line.stride.equal(line.element.bytes)
        return self.body.either(here, moved(line.base, self.start * line.stride), self._room[name])

    def _close(self) -> None:
        for each, _ in self._every_sum():
            each.end()
        with self.body.when(~self._fits):
            for name, line in self._writes.items():
                self.body.do(call_for("void", "flush", line.element, *self._write_back(name, line)))
            for name, line in self._targets.items():
                stored = self._cotangents[name].stored
                self.body.do(call_for("void", "add", line.element, *self._write_back(name, line), stored))

    def _write_back(self, name: str, line: Line) -> tuple[Value, Value, Value, Value]:
        return self._room[name], moved(line.base, self.start * line.stride), line.stride, self.n

    # --- the loop over vectors --------------------------------------------------------------------------------------

    def over_elements(self, emit: Callable[["Elements"], None]) -> None:
        """Emit what is to be done with each vector of a block, by one loop: the code is to be small here."""
        body = self.body
        with body.loop(self._zero, self.n, body.target.lanes) as i:
            mask = body.lane_numbers() < body.splat(self.n - i)
            emit(Elements(self._blocks, i, body.target.lanes, mask))

    def pointer(self, name: str) -> tuple[Value, Value]:
        """Address and stride of a block, for a library loop."""
        block = self._blocks[name]
        size = self.body.constant(I64, block.element.bytes)
        if name in self._reads:
            size = self.body.either(self._reads[name].stride.equal(0), self._zero, size)
        return block.at, size


def adjacent(line: Line) -> ElementBlock:
    """Describe an adjacent line as one block."""
    return ElementBlock(line.base, line.element)


def adjacent_cotangent(to: Cotangent, stored: bool | None) -> ElementBlock:
    """Describe an adjacent cotangent as one block, which is written if it is `stored`, or added to.

    Where that is not known, `None`, elements to be overwritten are read as -0.0.
    """
    line, body = to.line, to.stored.body
    if stored:
        return adjacent(line)
    at, mask = line.base, body.constant(I64, -1)
    if stored is None:
        mask = body.either(to.stored, body.constant(I64, 0), mask)
        at = body.either(to.stored, body.nothings(line.element), at)
    return ElementBlock(line.base, line.element, old=(at, mask))


def everywhere(line: Line) -> ElementBlock:
    """Describe a line that is one element."""
    element = load(line.base, line.element)
    copies(element)  # known from now on, so that no loop does it again
    return ElementBlock(line.base, line.element, everywhere=element)


def over_vectors(
    body: Body, n: Value, blocks: Mapping[str, ElementBlock], emit: Callable[["Elements"], None]
) -> None:
    """Emit what is to be done with each vector of blocks: a loop for whole ones, and masked, what is left."""
    whole = _over_whole(body, n, blocks, emit)
    with body.when(whole < n):
        mask = body.lane_numbers() < body.splat(n - whole)
        emit(Elements(blocks, whole, body.target.lanes, mask))


def over_pieces(
    body: Body, n: Value, blocks: Mapping[str, ElementBlock], emit: Callable[["Elements"], None]
) -> None:
    """Loop over pieces of a block: halves, quarters, and so on, as masked stores are not forwarded to loads."""
    _over_whole(body, n, blocks, emit)
    for lanes in halvings(body.target.lanes):
        with body.when((n & lanes).unequal(0)):
            emit(Elements(blocks, n & (-2 * lanes), lanes))


def _over_whole(
    body: Body, n: Value, blocks: Mapping[str, ElementBlock], emit: Callable[["Elements"], None]
) -> Value:
    whole = n & -body.target.lanes
    with body.loop(body.constant(I64, 0), whole, body.target.lanes) as i:
        emit(Elements(blocks, i, body.target.lanes))
    return whole


class Elements:
    """A vector of elements of each block.

    A single element is computed with in the first lane of a vector of two: comparisons of vectors stay in registers of
    vectors, those of single numbers go by way of the processor's flags.
    """

    def __init__(
        self, blocks: Mapping[str, ElementBlock], index: Value, lanes: int, mask: Value | None = None
    ) -> None:
        self._blocks, self._index, self._mask = blocks, index, mask
        self._lanes, self._one = max(lanes, 2), lanes == 1

    def type_of(self, element: Type) -> Type:
        """Return the type of a vector of so many elements, or of one of parts of so many pairs."""
        return Type(element.part.element, self._lanes)

    def _lookup(self, name: str) -> tuple[ElementBlock, Value, Type]:
        block = self._blocks[name]
        return block, element_at(block.at, block.element, self._index), self.type_of(block.element)

    def read(self, name: str) -> Any:
        """Load the elements of a block, as a `Number`; bytes become masks."""
        block, start, type_ = self._lookup(name)
        if block.everywhere is not None:
            value = copies(block.everywhere, self._lanes)
        else:
            value = self._load(block, start, type_)
        return value.unequal(0) if type_.element == "i8" else value

    def _load(self, block: ElementBlock, start: Value, type_: Type) -> Number:
        mask = self._mask
        if block.several is not None:
            mask = block.several if mask is None else mask & block.several
        if not block.element.is_pair:
            assert not isinstance(block.single, ComplexValue)
            return self._fetch(start, type_, mask, block.single)
        numbers = self._fetch_pairs(start, type_, mask)
        return numbers if mask is None or block.single is None else choose(mask, numbers, block.single)

    def _fetch(self, start: Value, type_: Type, mask: Value | None, missing: Value | None = None) -> Value:
        if not self._one:
            return load(start, type_, mask, missing)
        zeros, body = start.body.named(type_, "zeroinitializer"), start.body
        return body.load(type_, f"insertelement {zeros}, {load(start, Type(type_.element))}, i32 0")

    def _fetch_pairs(self, start: Value, type_: Type, mask: Value | None) -> ComplexValue:
        body = start.body
        if not self._one:
            joint = Type(type_.element, 2 * type_.lanes)
            return separated(load(start, joint, None if mask is None else twice(mask)))
        pair, zeros = load(start, type_), body.named(type_, "zeroinitializer")
        return ComplexValue(shuffled(pair, zeros, (0, 2)), shuffled(pair, zeros, (1, 3)))

    def _keep(self, value: Value, start: Value) -> None:
        if self._one:
            value = first_lane(value)
        store(value, start, self._mask)

    def _keep_pairs(self, value: ComplexValue, start: Value) -> None:
        if self._one:
            store(shuffled(value.re, value.im, (0, 2)), start)
        else:
            store(interleaved(value), start, None if self._mask is None else twice(self._mask))

    def write(self, name: str, value: Number) -> None:
        """Write elements; truth values as bytes, real numbers as complex ones where the block holds these."""
        block, start, _ = self._lookup(name)
        if block.element.is_pair:
            self._keep_pairs(as_complex(value), start)
            return
        assert isinstance(value, Value)
        bytes_ = value.body.convert("zext", value, "i8") if value.type.element == "i1" else value
        self._keep(bytes_, start)

    def add(self, name: str, value: Number) -> None:
        """Add to elements where they are kept, otherwise write."""
        block, start, type_ = self._lookup(name)
        value = as_complex(value) if block.element.is_pair else value
        if block.sums:
            for sums, part in zip(block.sums, parts_of(value), strict=True):
                add_to_parts(sums, self._index, part, self._mask)
        elif isinstance(value, ComplexValue):
            old = self._old_start(block)
            before = None if old is None else self._fetch_pairs(old, type_, self._mask)
            self._keep_pairs(value if before is None else before + value, start)
        else:
            old = self._old_start(block)
            self._keep(value if old is None else self._fetch(old, type_, self._mask) + value, start)

    def _old_start(self, block: ElementBlock) -> Value | None:
        """Return where elements begin that are added to; `None` if they are written."""
        if block.old is None:
            return None
        base, everywhere = block.old
        return element_at(base, block.element, self._index & everywhere)

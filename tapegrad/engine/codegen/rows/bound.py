"""Kernels of bound rows: what binding knows of a frame, a kernel need not ask.

A kernel of this kind is for lines that are adjacent, with some operands that are one element, and for certain
cotangents, written or added to. Its results are those of the row's other kernel, to the bit.
"""

from typing import NamedTuple

from tapegrad.engine.codegen.ir.blocks import (
    ElementBlock,
    Elements,
    added_to,
    adjacent,
    everywhere,
    written,
)
from tapegrad.engine.codegen.ir.body import Body
from tapegrad.engine.codegen.ir.types import I64
from tapegrad.engine.codegen.rows.case import Case
from tapegrad.engine.codegen.rows.loops import Loop, LoopLines
from tapegrad.engine.codegen.rows.rows import loop_of
from tapegrad.engine.kernels.language.frame import Y_BAR, Y

_OPERANDS = 3


class Pattern(NamedTuple):
    """Facts of a frame that are known when it is bound; for operands a bit each.

    Attributes
    ----------
    single
        Whether there is one element in all.
    scalars
        Operands that are one element, in a loop over several.
    wanted, stored
        Operands to whose cotangents is contributed, and those of them whose cotangents are written.
    """

    single: int
    scalars: int
    wanted: int
    stored: int

    @classmethod
    def of_code(cls, code: int) -> "Pattern":
        """Decode the pattern from a number that `code` gives."""
        return cls(code & 1, code >> 1 & 7, code >> 4 & 7, code >> 7 & 7)

    @property
    def code(self) -> int:
        """A number below 1024."""
        return self.single | self.scalars << 1 | self.wanted << 4 | self.stored << 7


def operands(bits: int) -> tuple[int, ...]:
    """Return the operands that bits stand for."""
    return tuple(j for j in range(_OPERANDS) if bits >> j & 1)


def words_read(direction: str) -> int:
    """Return how many fields of a frame these kernels read: up to the result, or its cotangent, the last of them."""
    return 1 + (Y if direction == "forward" else Y_BAR)


def needed(case: Case, direction: str, pattern: Pattern) -> Pattern | None:
    """Return the least pattern whose kernel is right for a pattern; none if the kernel calls loops of libraries."""
    loop = _loop(case, direction, pattern)
    if loop.stages.steps:
        return None
    return pattern._replace(single=0) if loop.takes_whole_vectors else pattern


def _loop(case: Case, direction: str, pattern: Pattern) -> Loop:
    return loop_of(case, direction, operands(pattern.wanted))


def kernel(case: Case, direction: str, pattern: Pattern, symbol: str) -> Body:
    """Return the functions of the kernel of a pattern that `needed` has returned."""
    loop, body = _loop(case, direction, pattern), case.begin(symbol)
    blocks = _blocks(loop.lines(body), pattern)
    if pattern.single:
        loop.vector(body)(Elements(blocks, body.constant(I64, 0), 1))
        body.ret("i64 0")
    else:
        loop.run(body, blocks)
    return body


def _blocks(lines: LoopLines, pattern: Pattern) -> dict[str, ElementBlock]:
    scalars = {f"x{j}" for j in operands(pattern.scalars)}
    stored = {f"x{j}_bar" for j in operands(pattern.stored)}
    return {
        **{
            name: everywhere(line) if name in scalars else adjacent(line)
            for name, line in lines.reads.items()
        },
        **{name: adjacent(line) for name, line in lines.writes.items()},
        **{name: written(to) if name in stored else added_to(to) for name, to in lines.cotangents.items()},
    }

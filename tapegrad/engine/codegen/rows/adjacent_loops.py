"""Loops over adjacent float64 for kernels written by hand: ``void loop(n, ...)``, then the address of each line."""

from collections.abc import Callable
from typing import NamedTuple

from tapegrad.engine.codegen.ir.blocks import Elements, adjacent, over_vectors
from tapegrad.engine.codegen.ir.body import Body
from tapegrad.engine.codegen.ir.memory import POINTER, Line
from tapegrad.engine.codegen.ir.target import Target
from tapegrad.engine.codegen.ir.types import I64, Type
from tapegrad.engine.codegen.rows.exponentials import share, with_exponential
from tapegrad.engine.codegen.rows.functions import call


class _Loop(NamedTuple):
    lines: tuple[str, ...]
    emit: Callable[[Elements], None]


def _function(name: str) -> _Loop:
    """Return a function of the mathematics."""
    return _Loop(("x", "y"), lambda elements: elements.write("y", call(name, elements.read("x"))))


def _add_exponentials(elements: Elements) -> None:
    """Add ``exp(x - centre)`` to a total; where x is the centre, count it."""
    x, centre, total, ties = map(elements.read, ("x", "centre", "total", "ties"))
    total, ties = with_exponential(total, ties, x, centre)
    elements.write("total", total)
    elements.write("ties", ties)


def _write_shares(elements: Elements) -> None:
    """Write ``exp(x - centre)*weight``."""
    elements.write("y", share(*map(elements.read, ("x", "centre", "weight"))))


# Those that `kernels.library` names.
LOOPS: dict[str, _Loop] = {
    "log": _function("log"),
    "log1p": _function("log1p"),
    "add_exponentials": _Loop(("x", "centre", "total", "ties"), _add_exponentials),
    "write_shares": _Loop(("x", "centre", "weight", "y"), _write_shares),
}


def symbol(name: str, target: Target) -> str:
    return target.symbol("loop", name)


def define(name: str, target: Target) -> Body:
    """Define a loop. A line that is written may be one that is read."""
    lines, emit = LOOPS[name]
    pointers = "".join(f", ptr %{line}" for line in lines)
    body = Body(target, f'define void @"{symbol(name, target)}"(i64 %n{pointers})')
    element, size = Type("double"), body.constant(I64, 8)
    blocks = {line: adjacent(Line(body.named(POINTER, f"%{line}"), size, element)) for line in lines}
    over_vectors(body, body.named(I64, "%n"), blocks, emit)
    body.ret("void")
    return body

"""Calls of NumPy's and SciPy's inner loops, by the table of their addresses."""

from collections.abc import Sequence

from tapegrad.engine.emitter.body import Body, Value
from tapegrad.engine.emitter.memory import POINTER, element_at, pointer_word
from tapegrad.engine.emitter.types import I64, Type
from tapegrad.engine.kernels.library import entry

_LETTERS = {"f64": "d", "f32": "f"}


def call_library(body: Body, name: str, dtype: str, n: Value, lines: Sequence[tuple[Value, Value]]) -> None:
    """Emit the call of a loop over `n` elements of lines, each an address and a stride, the result's last."""
    number, loops = 2 * entry(name, _LETTERS[dtype]), body.named(POINTER, "%loops")
    body.loops.add(name)
    loop, data = pointer_word(loops, number), pointer_word(loops, number + 1)
    places = _words(body, POINTER, [address for address, _ in lines])
    strides = _words(body, I64, [stride for _, stride in lines])
    body.do(f"call void {loop.text}({places}, {_words(body, I64, [n])}, {strides}, {data})")


def _words(body: Body, type_: Type, values: Sequence[Value]) -> Value:
    """The address of words on the stack that hold values."""
    room = body.on_stack(f"[{len(values)} x {type_}]")
    for index, value in enumerate(values):
        place = element_at(room, I64, body.constant(I64, index))
        body.do(f"store {value}, {place}, align 8")
    return room

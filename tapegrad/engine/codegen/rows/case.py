"""Cases of the emitter: one kernel of a row of the table, and the lines that its frame leads to."""

from dataclasses import dataclass

from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.memory import POINTER, Line, pointer_word, word
from tapegrad.engine.codegen.ir.target import Target
from tapegrad.engine.codegen.ir.types import Type
from tapegrad.engine.kernels.language.frame import COUNT, STRIDE, X_BAR, Y_BAR, Y_STRIDE, X, Y
from tapegrad.ops import Op

ELEMENTS = {"f64": "double", "f32": "float"}
_BYTE = "i8"


@dataclass(frozen=True)
class Case:
    """A row in one element type, for one processor."""

    op: Op
    dtype: str
    target: Target

    @property
    def element(self) -> Type:
        return Type(ELEMENTS[self.dtype])

    def symbol(self, direction: str, *parts: object) -> str:
        """Return the symbol of a kernel."""
        return self.target.symbol(self.op.name, direction, self.dtype, *parts)

    @property
    def vector(self) -> Type:
        """The type of a vector of elements."""
        return Type(ELEMENTS[self.dtype], self.target.lanes)

    def begin(self, symbol: str) -> Body:
        return Body(self.target, f'define i64 @"{symbol}"(ptr %frame, ptr %loops)')

    def primal(self, body: Body, name: str) -> Line:
        """Return the line of an operand, or of the result."""
        frame = body.named(POINTER, "%frame")
        if name == "y":
            result = Type(_BYTE) if self.op.predicate else self.element
            return Line(pointer_word(frame, Y), word(frame, Y_STRIDE), result)
        j = int(name[1:])
        element = Type(_BYTE) if j in self.op.boolean_operands else self.element
        return Line(pointer_word(frame, X + j), word(frame, STRIDE + j), element)

    def second(self, body: Body, name: str) -> Line:
        """Return the line of a cotangent, or of a tangent."""
        frame = body.named(POINTER, "%frame")
        if name == "y":
            return Line(pointer_word(frame, Y_BAR), word(frame, Y_STRIDE), self.element)
        j = int(name[1:])
        return Line(pointer_word(frame, X_BAR + j), word(frame, STRIDE + j), self.element)


def frame_of(body: Body) -> Value:
    return body.named(POINTER, "%frame")


def count_of(body: Body) -> Value:
    return word(frame_of(body), COUNT)


def leave_for(body: Body, name: str) -> None:
    """Go on in another kernel, with the same frame, and do not come back."""
    arguments = [frame_of(body), body.named(POINTER, "%loops")]
    result = body.load(Type("i64"), f"musttail {body.call('i64', quoted(name), arguments)}")
    body.ret(result)


def quoted(name: str) -> str:
    return f'@"{name}"'

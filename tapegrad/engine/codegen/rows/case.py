"""Cases of the emitter: one kernel of a row of the table, the lines that its frame leads to, and facts of the frame."""

from dataclasses import dataclass, field
from typing import NamedTuple

from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.memory import POINTER, Line, load_field, load_pointer
from tapegrad.engine.codegen.ir.target import Target, host
from tapegrad.engine.codegen.ir.types import Type
from tapegrad.engine.kernels.language.frame import COUNT, STRIDE, X_BAR, X
from tapegrad.ops import Op

ELEMENTS = {"f64": "double", "f32": "float"}
# of the parts of complex numbers
PARTS = {"c128": "double", "c64": "float"}
_BYTE = "i8"
_OPERANDS = 3


class FrameFacts(NamedTuple):
    """Facts of a frame that are known when it is bound, beside that its lines are adjacent; for operands a bit each.

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
    def of_code(cls, code: int) -> "FrameFacts":
        """Decode the facts from a number that `code` gives."""
        return cls(code & 1, code >> 1 & 7, code >> 4 & 7, code >> 7 & 7)

    @property
    def sums(self) -> int:
        """The operands whose cotangents are one element, to which those of the line are added up; a bit each."""
        return self.scalars & self.wanted

    @property
    def code(self) -> int:
        """A number below 1024."""
        return self.single | self.scalars << 1 | self.wanted << 4 | self.stored << 7


def operands(bits: int) -> tuple[int, ...]:
    """Return the operands that bits stand for."""
    return tuple(j for j in range(_OPERANDS) if bits >> j & 1)


@dataclass(frozen=True)
class Case:
    """A row in one element type, for one processor: this one, or another kind that it can stand for."""

    op: Op
    dtype: str
    target: Target = field(default_factory=host)

    @property
    def is_complex(self) -> bool:
        return self.dtype in PARTS

    @property
    def element(self) -> Type:
        """The type that is computed in: that of real numbers, or of the parts of complex ones."""
        return Type((PARTS if self.is_complex else ELEMENTS)[self.dtype])

    @property
    def partials(self) -> tuple[str, ...]:
        """The formulas of the partials by the operands."""
        return self.op.partials_of(self.dtype)

    @property
    def conjugate_partials(self) -> tuple[str, ...]:
        """The formulas of the partials by the conjugates of the operands: 0 where the op is analytic."""
        return (self.is_complex and self.op.conjugate_partials) or ("0",) * self.op.arity

    def is_pair(self, role: int) -> bool:
        """Return whether an operand, or the result, role 3, is complex."""
        is_real = self.op.real_result if role == _OPERANDS else role in self.op.real_operands
        return self.is_complex and not is_real

    def element_of(self, role: int) -> Type:
        """Return the type of the elements of an operand's cotangent, or the result's, role 3."""
        return self.element.pair if self.is_pair(role) else self.element

    def symbol(self, direction: str, facts: FrameFacts | None = None) -> str:
        """Return the symbol of a kernel."""
        known = () if facts is None else (facts.code,)
        return self.target.symbol(self.op.name, direction, self.dtype, *known)

    @property
    def vector(self) -> Type:
        """The type of a vector of elements."""
        return Type(self.element.element, self.target.lanes)

    def begin(self, symbol: str) -> Body:
        return Body(self.target, f'define i64 @"{symbol}"(ptr %frame, ptr %loops)')

    def line(self, body: Body, name: str) -> Line:
        """Return a line by its name: ``x0`` or ``y``, or of its cotangent ``x0_bar``, of its tangent ``x0_dot``."""
        primal, _, dual = name.partition("_")
        j = (
            _OPERANDS if primal == "y" else int(primal[1:])
        )  # fields of the result follow those of the operands
        bytes_ = (*self.op.boolean_operands, *[_OPERANDS][: self.op.predicate])
        element = Type(_BYTE) if j in bytes_ and not dual else self.element_of(j)
        frame = frame_of(body)
        return Line(load_pointer(frame, (X_BAR if dual else X) + j), load_field(frame, STRIDE + j), element)


def frame_of(body: Body) -> Value:
    return body.named(POINTER, "%frame")


def count_of(body: Body) -> Value:
    return load_field(frame_of(body), COUNT)


def has_dual(body: Body, j: int) -> Value:
    """Return whether an operand has a cotangent, which is wanted then, or a tangent."""
    return load_field(frame_of(body), X_BAR + j).unequal(0)


def leave_for(body: Body, name: str) -> None:
    """Go on in another kernel, with the same frame, and do not come back."""
    arguments = [frame_of(body), body.named(POINTER, "%loops")]
    result = body.load(Type("i64"), f"musttail {body.call('i64', quoted(name), arguments)}")
    body.ret(result)


def quoted(name: str) -> str:
    return f'@"{name}"'

"""A function of LLVM's under construction, and its values.

An instruction that has been emitted with the same operands before is not emitted again: its value is used once more.
So common subexpressions vanish as they are written, across texts of the table and whatever was made of them, and no
pass over the code has to look for them.

Values have Python's operators for LLVM's instructions; a number beside a value stands for a constant of its type.
Comparisons give truth values, lane by lane; with NaN they are false. `equal` compares, for ``==`` says whether two
Python objects are the same value.
"""

import contextlib
import struct
from collections.abc import Callable, Iterator, Sequence
from ctypes import c_float
from typing import Any, Union

from tapegrad.engine.codegen.ir.instructions import Instructions
from tapegrad.engine.codegen.ir.target import Target
from tapegrad.engine.codegen.ir.types import I64, Type

Operand = Union["Value", float, int]


def _operator(name: str) -> Callable[["Value", Operand], "Value"]:
    def emit(self: "Value", other: Operand) -> "Value":
        if not isinstance(other, _OPERANDS):
            return NotImplemented
        return self.body.arithmetic(name, self, other)

    return emit


def _swapped(name: str) -> Callable[["Value", Operand], "Value"]:
    def emit(self: "Value", other: Operand) -> "Value":
        return self.body.arithmetic(name, other, self)

    return emit


def _comparison(name: str) -> Callable[["Value", Operand], "Value"]:
    def emit(self: "Value", other: Operand) -> "Value":
        return self.body.compare(name, self, other)

    return emit


class Value:
    """Result of an instruction, or a constant."""

    __slots__ = ("body", "text", "type")

    def __init__(self, body: "Body", type_: Type, text: str) -> None:
        self.body, self.type, self.text = body, type_, text

    def __str__(self) -> str:
        """Return the value as an operand of an instruction."""
        return f"{self.type} {self.text}"

    __add__, __radd__ = _operator("add"), _swapped("add")
    __sub__, __rsub__ = _operator("sub"), _swapped("sub")
    __mul__, __rmul__ = _operator("mul"), _swapped("mul")
    __truediv__, __rtruediv__ = _operator("div"), _swapped("div")
    __and__, __or__, __xor__ = _operator("and"), _operator("or"), _operator("xor")
    __lshift__, __rshift__ = _operator("shl"), _operator("lshr")
    __lt__, __le__ = _comparison("lt"), _comparison("le")
    __gt__, __ge__ = _comparison("gt"), _comparison("ge")

    def __neg__(self) -> "Value":
        if self.type.is_float:
            return self.body.combined(f"fneg {self}", self)
        return 0 - self

    def __invert__(self) -> "Value":
        return self ^ -1

    @property
    def is_constant(self) -> bool:
        """True if the text is that of a constant vector."""
        return self.text.startswith("<")

    def equal(self, other: Operand) -> "Value":
        return self.body.compare("eq", self, other)

    def unequal(self, other: Operand) -> "Value":
        """Compare; the result is also true if either is NaN."""
        return self.body.compare("ne", self, other)

    def like(self, number: float) -> "Value":
        """Return a constant of the same type."""
        return self.body.constant(self.type, number)

    def __eq__(self, other: Any) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


_OPERANDS = (Value, float, int)


class Body:
    """The instructions of one function, block after block."""

    def __init__(self, target: Target, head: str) -> None:
        self.target = target
        self.declarations: dict[
            str, str
        ] = {}  # functions of other modules that are called, and their declarations
        self.loops: set[str] = set()  # library loops that are called
        self._head = head
        self._code = Instructions[Value](["entry:"])
        self._stack: list[str] = []
        self._terms: dict[str, tuple[Value, ...]] = {}
        self._block, self._has_returned = "entry", False
        self._count = 0

    @property
    def text(self) -> str:
        begin = [f"{self._head} {{", "room:", *self._stack, "  br label %entry"]
        return "\n".join([*begin, *self._code.text(), "}"])

    def vector(self, element: str) -> Type:
        """Return the type of a vector value."""
        return Type(element, self.target.lanes)

    # --- instructions --------------------------------------------------------------------------------------------

    def fresh(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"

    def named(self, type_: Type, text: str) -> Value:
        """Return a value that has a name already: an argument or a phi."""
        return Value(self, type_, text)

    def emit(self, type_: Type, instruction: str) -> Value:
        """Emit an instruction that has no effect beside its value."""
        known = self._code.known(instruction)
        if known is None:
            known = Value(self, type_, f"%{self.fresh('v')}")
            self._code.place(known.text, instruction, known)
        return known

    def load(self, type_: Type, instruction: str) -> Value:
        """Emit an instruction whose value may differ each time, as that of a load does."""
        name = f"%{self.fresh('v')}"
        self._code.define(name, instruction)
        return Value(self, type_, name)

    def do(self, instruction: str) -> None:
        """Emit an instruction without a value."""
        self._code.add(f"  {instruction}")

    def ret(self, value: Value | str) -> None:
        """End the block by a return of a value, or of ``void``."""
        self.do(f"ret {value}")
        self._has_returned = True

    def call(self, result: str, name: str, arguments: Sequence[Value], convention: str = "") -> str:
        """Write the text of a call and declare its function."""
        types = ", ".join(str(argument.type) for argument in arguments)
        self.declarations[name] = f"declare {convention} {result} {name}({types})"
        return f"call {convention} {result} {name}({', '.join(map(str, arguments))})"

    def intrinsic(self, name: str, *arguments: Value, result: Type | None = None) -> Value:
        """Call LLVM's function `name` for the type of the first argument."""
        type_ = arguments[0].type
        text = self.call(str(result or type_), f"@llvm.{name}.{type_.suffix}", arguments)
        return self.emit(result or type_, text)

    def on_stack(self, what: str, align: int = 64) -> Value:
        """Allocate memory on the stack; return its address."""
        name = f"%{self.fresh('s')}"
        self._stack.append(f"  {name} = alloca {what}, align {align}")
        return Value(self, Type("ptr"), name)

    def data(self, name: str, contents: str) -> Value:
        """Return the address of constant data of the module."""
        self.declarations[f"@{name}"] = f"@{name} = private constant {contents}, align 64"
        return Value(self, Type("ptr"), f"@{name}")

    def external(self, name: str) -> Value:
        """Return the address that a name outside of the module stands for when it is loaded."""
        self.declarations[name] = f"{name} = external global i8"
        return Value(self, Type("ptr"), name)

    def nothings(self, element: Type) -> Value:
        """Return the address of a vector of identities of addition, -0.0."""
        count, part = self.target.lanes << element.is_pair, element.part
        zeros = ", ".join([f"{part} -0.0"] * count)
        return self.data(f"nothings.{element.suffix}", f"[{count} x {part}] [{zeros}]")

    # --- values --------------------------------------------------------------------------------------------------

    def constant(self, type_: Type, number: float) -> Value:
        if type_.is_float:
            # A float32 is inf where the number is too large for it
            rounded = c_float(number).value if type_.element == "float" else number
            text = f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"
        elif type_.element == "i1":
            text = "true" if number else "false"
        else:
            text = str(int(number))
        return Value(self, type_, f"splat ({type_.element} {text})" if type_.lanes else text)

    def _lifted(self, a: Operand, b: Operand) -> tuple[Value, Value]:
        if isinstance(a, Value):
            return a, b if isinstance(b, Value) else a.like(b)
        assert isinstance(b, Value)
        return b.like(a), b

    def arithmetic(self, name: str, a: Operand, b: Operand) -> Value:
        x, y = self._lifted(a, b)
        if x.type.is_float:
            return self.combined(f"f{name} {x}, {y.text}", x, y)
        return self.emit(x.type, f"{name} {x}, {y.text}")

    def combined(self, instruction: str, *terms: Value) -> Value:
        """Emit an instruction whose value is NaN in each lane in which one of its terms is."""
        value = self.emit(terms[0].type, instruction)
        self._terms[value.text] = terms
        return value

    def terms(self, value: Value) -> tuple[Value, ...]:
        """Values of which is known that where one of them is NaN, so is this one."""
        return self._terms.get(value.text, ())

    def compare(self, name: str, a: Operand, b: Operand) -> Value:
        """Truth values; of integers with signs. All but "ne" are false where a float is NaN."""
        x, y = self._lifted(a, b)
        integer = name if name in ("eq", "ne") else f"s{name}"
        predicate = f"fcmp {'u' if name == 'ne' else 'o'}{name}" if x.type.is_float else f"icmp {integer}"
        return self.emit(x.type.of("i1"), f"{predicate} {x}, {y.text}")

    def convert(self, how: str, x: Value, element: str) -> Value:
        """`x` in another element type, by one of LLVM's conversions."""
        type_ = x.type.of(element)
        return x if type_ == x.type else self.emit(type_, f"{how} {x} to {type_}")

    def splat(self, x: Value, lanes: int = 0) -> Value:
        """Broadcast a scalar to all lanes."""
        type_ = Type(x.type.element, lanes or self.target.lanes)
        if (
            x.type.element == "i1" and type_.lanes >= 8
        ):  # by the bits of an integer, of which processors make masks
            bits = self.convert("sext", x, f"i{type_.lanes}")
            return self.emit(type_, f"bitcast {bits} to {type_}")
        first = self.emit(type_, f"insertelement {type_} poison, {x}, i32 0")
        zeros = f"<{type_.lanes} x i32> zeroinitializer"
        return self.emit(type_, f"shufflevector {first}, {type_} poison, {zeros}")

    def lane_numbers(self, lanes: int = 0) -> Value:
        """0, 1, 2, ... as 64-bit integers."""
        type_ = Type("i64", lanes or self.target.lanes)
        return self.named(type_, f"<{', '.join(f'i64 {lane}' for lane in range(type_.lanes))}>")

    def bits_of(self, mask: Value) -> Value:
        """Return an integer of a bit for each lane of a mask."""
        return self.emit(Type(f"i{mask.type.lanes}"), f"bitcast {mask} to i{mask.type.lanes}")

    def any(self, mask: Value) -> Value:
        """Return whether any lane of a mask is true."""
        return self.emit(Type("i1"), f"icmp ne {self.bits_of(mask)}, 0")

    # --- blocks --------------------------------------------------------------------------------------------------

    def begin(self, block: str) -> None:
        """Begin a block. What is known must have been emitted in blocks that it cannot be reached around."""
        self._code.add(f"{block}:")
        self._block, self._has_returned = block, False

    @property
    def block(self) -> str:
        """The block that instructions are emitted into."""
        return self._block

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """Forget afterwards what was emitted inside: it may not have been executed."""
        with self._code.scope():
            yield

    def phi(self, type_: Type, **incoming: Value) -> Value:
        """Emit a phi: one incoming value for each predecessor block."""
        pairs = ", ".join(f"[ {value.text}, %{block} ]" for block, value in incoming.items())
        return self.load(type_, f"phi {type_} {pairs}")

    def rarely(self, condition: Value, rare: str, usual: str) -> None:
        """Branch to the block `rare` if a condition holds, else to `usual`; `rare` costs `usual` no register.

        Without the weights, LLVM keeps the values of both in memory where there are too few registers for `rare`.
        """
        weights = '!{!"branch_weights", i32 1, i32 2000}'
        self.do(f"br {condition}, label %{rare}, label %{usual}, !prof {weights}")

    @contextlib.contextmanager
    def when(self, condition: Value, rarely: bool = False) -> Iterator[None]:
        """Emit a conditional block: code inside runs only if a condition holds, and may end in a return."""
        inside, after = self.fresh("then"), self.fresh("after")
        if rarely:
            self.rarely(condition, inside, after)
        else:
            self.do(f"br {condition}, label %{inside}, label %{after}")
        self.begin(inside)
        with self.scope():
            yield
        if not self._has_returned:
            self.do(f"br label %{after}")
        self.begin(after)

    def unless(self, condition: Value, value: Value, otherwise: Callable[[], Value]) -> Value:
        """`value`, but where a condition holds, which is rare, what is emitted by `otherwise`."""
        (found,) = self.unless_all(condition, (value,), lambda: (otherwise(),))
        return found

    def unless_all(
        self, condition: Value, values: Sequence[Value], otherwise: Callable[[], Sequence[Value]]
    ) -> tuple[Value, ...]:
        """Emit a conditional block for several values at once."""
        before, inside, after = self.block, self.fresh("rare"), self.fresh("common")
        self.rarely(condition, inside, after)
        self.begin(inside)
        with self.scope():
            others = otherwise()
        ended = self.block
        self.do(f"br label %{after}")
        self.begin(after)
        pairs = zip(values, others, strict=True)
        return tuple(self.phi(value.type, **{before: value, ended: other}) for value, other in pairs)

    def branched(self, condition: Value, rare: Callable[[], Value], usual: Callable[[], Value]) -> Value:
        """Emit what `rare` does where a condition holds, else what `usual` does; the value of the one."""
        names = self.fresh("rare"), self.fresh("usual")
        after = self.fresh("after")
        self.rarely(condition, *names)
        found: list[tuple[str, Value]] = []
        for name, emit in zip(names, (rare, usual), strict=True):
            self.begin(name)
            with self.scope():
                value = emit()
            found.append((self.block, value))
            self.do(f"br label %{after}")
        self.begin(after)
        return self.phi(found[0][1].type, **dict(found))

    def either(self, condition: Value, value: Value, other: Value) -> Value:
        """Select one of two scalars or vectors by a scalar condition; both are computed."""
        return self.emit(value.type, f"select {condition}, {value}, {other}")

    @contextlib.contextmanager
    def loop(self, start: Value, end: Value, step: Operand) -> Iterator[Value]:
        """Emit a loop over integers from `start` by `step` while they are below `end`; yield the integer."""
        with self.carrying(start, end, step, ()) as iteration:
            yield iteration.index

    @contextlib.contextmanager
    def carrying(
        self, start: Value, end: Value, step: Operand, first: Sequence[Value]
    ) -> Iterator["Iteration"]:
        """Emit a loop with loop-carried values; afterwards they are those of the last iteration."""
        before, test, inside, after = self.block, self.fresh("test"), self.fresh("loop"), self.fresh("after")
        with self._code.loop():
            self.do(f"br label %{test}")
            self.begin(test)
            index, *values = (self._handed_on(each.type) for each in (start, *first))
            phis = self._code.add_later()
            iteration = Iteration((test, after), step, index, values)
            goes_on = self.emit(Type("i1"), f"icmp slt {index}, {end.text}")
            self.do(f"br {goes_on}, label %{inside}, label %{after}")
            self.begin(inside)
            yield iteration
            iteration.again(iteration.following)
        for number, phi in enumerate((index, *values)):
            incoming = [(before, (start, *first)), *iteration.incoming]
            edges = ", ".join(f"[ {given[number].text}, %{block} ]" for block, given in incoming)
            phis.append(f"  {phi.text} = phi {phi.type} {edges}")
        self.begin(after)

    def _handed_on(self, type_: Type) -> Value:
        """Return the loop-carried value of an iteration."""
        name = f"%{self.fresh('i')}"
        self._code.belongs_here(name)
        return self.named(type_, name)


class Iteration:
    """Iteration of a loop.

    Attributes
    ----------
    index, values
        Its index, and the loop-carried values of the previous iteration.
    following
        The values for the next one.
    incoming
        Predecessor blocks of an iteration, each with its index and its loop-carried values.
    """

    def __init__(self, blocks: tuple[str, str], step: Operand, index: Value, values: list[Value]) -> None:
        self._test, self._after = blocks
        self._step = step
        self.index, self.values = index, values
        self.following = list(values)
        self.incoming: list[tuple[str, tuple[Value, ...]]] = []

    def again(self, following: Sequence[Value]) -> None:
        """End the iteration here."""
        body, step = self.index.body, self._step
        next_index = body.load(I64, f"add {self.index}, {step.text if isinstance(step, Value) else step}")
        self.continue_at(next_index, following)

    def continue_at(self, index: Value, following: Sequence[Value]) -> None:
        """End the iteration here, and begin the one of another index."""
        body = index.body
        self.incoming.append((body.block, (index, *following)))
        body.do(f"br label %{self._test}")

    def leave(self, condition: Value) -> None:
        """Leave the loop where a condition holds, which is rare: with the index and the values of this iteration."""
        body = self.index.body
        right = body.fresh("right")
        body.rarely(condition, self._after, right)
        body.begin(right)

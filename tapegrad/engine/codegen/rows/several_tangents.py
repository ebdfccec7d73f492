"""Several tangents of a row at once: the partials of a block are computed, and applied to all of them."""

from tapegrad.engine.codegen.ir.blocks import BlockLoop, Elements
from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.memory import (
    POINTER,
    Line,
    element_at,
    is_null,
    load_field,
    load_pointer,
    moved,
    scratch,
    store,
)
from tapegrad.engine.codegen.ir.operations import is_nan, total_of
from tapegrad.engine.codegen.ir.target import Target
from tapegrad.engine.codegen.ir.types import I64, Type
from tapegrad.engine.codegen.rows.case import Case, count_of, frame_of, has_dual, quoted
from tapegrad.engine.codegen.rows.expressions import Expressions, is_constant, masked_multiply
from tapegrad.engine.codegen.rows.loops import fill, make_room, run_steps
from tapegrad.engine.codegen.rows.stages import Computed, Stages
from tapegrad.engine.kernels.language.frame import FIELDS, PARAMS, X_BAR

_MAX_ELEMENTS_ALONG_TANGENTS = 4  # elements up to which the inner loop goes along the tangents


class Tangents:
    """Number of tangents, and the bytes from one to the next; one tangent if the frame does not say."""

    def __init__(self, body: Body) -> None:
        given = load_pointer(frame_of(body), PARAMS)
        alone = body.data("alone", "[5 x i64] [i64 1, i64 0, i64 0, i64 0, i64 0]")
        self._fields = body.either(is_null(given), alone, given)

    @property
    def count(self) -> Value:
        return load_field(self._fields, 0)

    def step(self, operand: int) -> Value:
        """Return the step of operand 0, 1 or 2, or of the result, operand 3."""
        return load_field(self._fields, 1 + operand)


def several(case: Case, wanted: list[int], name: str) -> Body:
    """Return the functions of the kernel for several tangents."""
    body = case.begin(name)
    stages = {j: Stages([case.op.partials[j]], f"t{j}_") for j in wanted}
    names = {name for each in stages.values() for name in each.primals_read}
    reads = {name: _if_given(case.line(body, name), frame_of(body)) for name in sorted(names)}
    blocks = BlockLoop(body, count_of(body), reads, {}, whole=False)
    partials = [_Partial(case, blocks, j, each) for j, each in stages.items()]
    tangents = Tangents(body)
    with blocks.each():
        for partial in partials:
            partial.compute()
        _apply(case, blocks, partials, tangents, wanted)
    body.ret("i64 0")
    return body


def one_after_the_other(case: Case, wanted: list[int], name: str) -> Body:
    """Return the kernel for several tangents of complex numbers: that of one tangent, called for each."""
    body = case.begin(name)
    tangents, frame = Tangents(body), frame_of(body)
    copy, zero = scratch(body, I64, FIELDS), body.constant(I64, 0)
    for field in range(FIELDS):
        store(load_field(frame, field), element_at(copy, I64, zero + field))
    store(zero, element_at(copy, I64, zero + PARAMS))
    with body.loop(zero, tangents.count, 1) as k:
        for role in (*wanted, 3):
            given = load_field(frame, X_BAR + role)
            moved_on = body.either(given.equal(0), given, given + k * tangents.step(role))
            store(moved_on, element_at(copy, I64, zero + (X_BAR + role)))
        body.load(
            I64, body.call("i64", quoted(case.symbol("tangent")), [copy, body.named(POINTER, "%loops")])
        )
    body.ret("i64 0")
    return body


def _if_given(line: Line, other: Value) -> Line:
    """Return a line that may be absent; elements read in its place are not used."""
    body, absent = line.base.body, is_null(line.base)
    return Line(
        body.either(absent, other, line.base),
        body.either(absent, body.constant(I64, 0), line.stride),
        line.element,
    )


class _Partial:
    """The partial by one operand, over a block, and the operand's tangents: of an absent one 1 and -0.0.

    To add -0.0 changes nothing, the sign of a zero included.
    """

    def __init__(self, case: Case, blocks: BlockLoop, j: int, stages: Stages) -> None:
        body, (self._node,) = blocks.body, stages.nodes
        self._case, self._blocks, self._stages = case, blocks, stages
        self.name, self._constant = f"p{j}", is_constant(self._node)
        self.present = has_dual(body, j)
        self.dots = _nothing_unless(self.present, case.line(body, f"x{j}_dot"))
        make_room(case, blocks, stages)
        self._cell = body.on_stack(str(case.element))
        store(body.constant(case.element, 1.0), self._cell)
        if not self._constant:
            blocks.temporary(self.name, case.element)

    def compute(self) -> None:
        """Fill the block, where there is a tangent."""
        body = self._blocks.body
        if self._constant:
            with body.when(self.present):
                store(Expressions(body, self._case.element, _nothing, []).value(self._node), self._cell)
            return
        with body.when(self.present):
            run_steps(self._case, self._blocks, self._stages)
            fill(self._case, self._blocks, Computed(self.name, self._node), self._stages)

    def line_of(self) -> tuple[Value, Value]:
        """Address and stride of the block; of a constant, and where there is no tangent, one element."""
        alone = self._cell, self._blocks.body.constant(I64, 0)
        if self._constant:
            return alone
        both = zip(self._blocks.pointer(self.name), alone, strict=True)
        address, stride = (self._blocks.body.either(self.present, one, other) for one, other in both)
        return address, stride


def _nothing(name: str) -> Value:
    raise LookupError(f"{name} in a constant")


def _nothing_unless(present: Value, line: Line) -> Line:
    body = present.body
    zero = body.on_stack(str(line.element))
    store(body.constant(line.element, -0.0), zero)
    stride = body.either(present, line.stride, body.constant(I64, 0))
    return Line(body.either(present, line.base, zero), stride, line.element)


def _apply(
    case: Case, blocks: BlockLoop, partials: list[_Partial], tangents: Tangents, wanted: list[int]
) -> None:
    """Apply the partials of a block to all tangents: one tangent after the other, or few elements at once."""
    body, zero, y = blocks.body, blocks.body.constant(I64, 0), case.line(blocks.body, "y_dot")
    steps = [body.either(p.present, tangents.step(j), zero) for p, j in zip(partials, wanted, strict=True)]
    lines = [partial.line_of() for partial in partials]
    short = body.compare("le", count_of(body), _MAX_ELEMENTS_ALONG_TANGENTS)
    with body.when(short), body.loop(zero, blocks.n, 1) as i:
        arguments = [tangents.count]
        for partial, step, (address, stride) in zip(partials, steps, lines, strict=True):
            dot = moved(partial.dots.base, i * partial.dots.stride)
            arguments += [moved(address, i * stride), zero, dot, step]
        body.do(_call_apply(case, [*arguments, moved(y.base, i * y.stride), tangents.step(3)]))
    with body.when(~short), body.loop(zero, tangents.count, 1) as k:
        arguments = [blocks.n]
        for partial, step, (address, stride) in zip(partials, steps, lines, strict=True):
            dot = moved(moved(partial.dots.base, k * step), blocks.start * partial.dots.stride)
            arguments += [address, stride, dot, partial.dots.stride]
        first = moved(moved(y.base, k * tangents.step(3)), blocks.start * y.stride)
        body.do(_call_apply(case, [*arguments, first, y.stride]))


def _total_of_products(pairs: list[tuple[Value, Value]]) -> Value:
    """Add products in which zero times anything is zero; they are masked only where the plain sum is NaN."""
    body = pairs[0][0].body
    plain = total_of([x * y for x, y in pairs])
    return body.unless(
        body.any(is_nan(plain)), plain, lambda: total_of([masked_multiply(x, y) for x, y in pairs])
    )


def apply_symbol(operands: int, element: Type, target: Target) -> str:
    return target.symbol("apply", operands, element)


def _call_apply(case: Case, arguments: list[Value]) -> str:
    name = apply_symbol(len(arguments) // 4, case.element, case.target)
    return arguments[0].body.call("void", quoted(name), arguments, "fastcc")


def define_apply(target: Target, operands: int, element: Type) -> Body:
    """``apply(n, partials, stride, tangents, stride, ..., result, stride)``: the sum of products along a line."""
    pairs = "".join(f", ptr %p{j}, i64 %u{j}, ptr %d{j}, i64 %v{j}" for j in range(operands))
    head = f'define fastcc void @"{apply_symbol(operands, element, target)}"(i64 %n{pairs}, ptr %y, i64 %w) noinline'
    body = Body(target, head)

    def line(base: str, stride: str) -> Line:
        return Line(body.named(POINTER, base), body.named(I64, stride), element)

    reads = {f"p{j}": line(f"%p{j}", f"%u{j}") for j in range(operands)}
    reads |= {f"d{j}": line(f"%d{j}", f"%v{j}") for j in range(operands)}
    blocks = BlockLoop(body, body.named(I64, "%n"), reads, {"y": line("%y", "%w")})

    def emit(elements: Elements) -> None:
        pairs = [(elements.read(f"p{j}"), elements.read(f"d{j}")) for j in range(operands)]
        elements.write("y", _total_of_products(pairs))

    with blocks.each():
        blocks.over_elements(emit)
    body.ret("void")
    return body

"""The forward and the reverse kernel of a row."""

import ast
import re
import textwrap

from tapegrad.engine.codegen.expressions import (
    calls_library,
    expression,
    function_of,
    is_library_call,
    parse,
    spaced,
    times_bar,
    unbracketed,
)
from tapegrad.engine.codegen.kernel import SIZES, Hoist, Kernel, emit_loop, loads, names_read
from tapegrad.ops import Op


def emit_operands(kernel: Kernel, names: list[str], depth: int) -> None:
    """Emit pointers to the operands' blocks."""
    for name in names:
        boolean = name[0] == "x" and int(name[1]) in kernel.op.boolean_operands
        number = 3 if name == "y" else int(name[1])
        kind = kernel.copied(boolean)
        kernel.emit(depth, f"{name} = operand_{kind}(block, {number}, {kernel.scratch()})")


def emit_whole(kernel: Kernel, names: list[str]) -> None:
    """Emit the test whether the operands `names` are adjacent in memory."""
    numbers = [3 if name == "y" else int(name[1]) for name in names]
    elements = sum(1 << number for number in numbers if number not in kernel.op.boolean_operands)
    bytes_ = sum(1 << number for number in numbers if number in kernel.op.boolean_operands)
    kernel.emit(1, f"whole = whole_{kernel.dtype}(frame, {elements}, {bytes_})")


def emit_blocks(kernel: Kernel, entire: str) -> None:
    """Emit the head of the loop over blocks; where the condition `entire` holds, there is one block."""
    kernel.emit(1, "start = 0", "while start < count:")
    kernel.emit(2, "n = count - start")
    kernel.emit(
        2, f"if n > BLOCK and not {_bracketed(entire)}:" if entire else "if n > BLOCK:", "    n = BLOCK"
    )
    kernel.emit(2, "block = Block(whole, frame, loops, start, n)")


def _bracketed(condition: str) -> str:
    return f"({condition})" if " " in condition else condition


def forward(op: Op, dtype: str) -> Kernel:
    """The forward kernel of a row."""
    kernel = Kernel(op, dtype)
    if op.predicate:
        return _forward_by_library(kernel, op.name) if op.arity == 2 else _forward_test(kernel)
    node = parse(op.primal)
    if (
        isinstance(node, ast.Call)
        and is_library_call(node)
        and all(isinstance(a, ast.Name) for a in node.args)
    ):
        return _forward_by_library(kernel, function_of(node))
    operands = [f"x{j}" for j in range(op.arity)]
    emit_whole(kernel, [*operands, "y"])
    emit_blocks(kernel, "" if calls_library(node) else "whole")
    emit_operands(kernel, operands, 2)
    target = kernel.scratch()
    kernel.emit(2, f"y = target_{dtype}(block, 3, {target})")
    final = Hoist(kernel, 2).visit(node)
    emit_loop(kernel, 2, "y", expression(final, dtype), final)
    kernel.emit(2, f"finish_{kernel.copied()}(block, {target})", "start += n")
    return kernel


def _forward_by_library(kernel: Kernel, name: str) -> Kernel:
    """A kernel that is a library loop and nothing else."""
    pairs = [f"load_i64(frame, X + {j}), load_i64(frame, STRIDE + {j})" for j in range(kernel.op.arity)]
    pairs.append("load_i64(frame, Y), load_i64(frame, Y_STRIDE)")
    kernel.emit(1, "arrays = (", *[f"    {pair}," for pair in pairs], ")")
    kernel.emit(1, f"call_library(loops, {kernel.entry(name)}, count, arrays)")
    return kernel


def _forward_test(kernel: Kernel) -> Kernel:
    """A test of one operand.

    NumPy 2.4's loops go wrong where the results are not adjacent, so they are always given a block that is.
    """
    kernel.emit(1, "stride = load_i64(frame, STRIDE)", f"whole = whole_{kernel.dtype}(frame, 0, 8)")
    emit_blocks(kernel, "whole")
    target = kernel.scratch()
    kernel.emit(2, f"y = target_u8(block, 3, {target})")
    x0 = "load_i64(frame, X) + start * stride"
    kernel.emit(2, f"call_library(loops, {kernel.entry(kernel.op.name)}, n, ({x0}, stride, y, 1))")
    kernel.emit(2, f"finish_{kernel.copied(boolean=True)}(block, {target})", "start += n")
    return kernel


def reverse(op: Op, dtype: str) -> Kernel:
    """The reverse kernel of a row."""
    kernel = Kernel(op, dtype)
    wanted = list(op.differentiable_operands)
    if not wanted:
        return kernel
    read = sorted(frozenset[str]().union(*(op.needs(j) for j in wanted)))
    emit_whole(kernel, sorted({*(f"x{j}" for j in wanted), *read, "y"}))
    for j in wanted:
        kernel.emit(1, f"x{j}_mask = open_{dtype}(whole, frame, {j})", f"x{j}_sum = 0.0")
    calls = any(calls_library(parse(op.partials[j])) for j in wanted)
    emit_blocks(kernel, "" if calls else "whole")
    if any(op.partials[j] != "0" for j in wanted):
        kernel.emit(2, f"y_bar = bar_{kernel.copied()}(block, 3, {kernel.scratch()})")
    emit_operands(kernel, read, 2)
    target, used = kernel.scratch(), kernel.blocks
    for j in wanted:
        kernel.blocks = used
        _emit_partial(kernel, j, target)
    kernel.emit(2, "start += n")
    kernel.emit(1, *[f"end_{dtype}(whole, frame, {j}, x{j}_sum)" for j in wanted])
    return kernel


def _emit_partial(kernel: Kernel, j: int, target: str) -> None:
    """Emit what adds the contributions of a block to the cotangent of operand `j`."""
    dtype = kernel.dtype
    kernel.emit(2, f"if load_i64(frame, X_BAR + {j}) != 0:")
    kernel.emit(3, f"x{j}_bar = contributions_{dtype}(block, {j}, {target})")
    node = Hoist(kernel, 3).visit(parse(kernel.op.partials[j]))
    text = times_bar(node, dtype)
    kernel.emit(3, "for i in range(n):")
    if "bar" in re.findall(r"\w+", text):
        kernel.emit(4, f"bar = load_{dtype}(y_bar, i)")
    used = frozenset(name for name in names_read(node) if re.search(rf"\b{name}_i\b", text))
    kernel.emit(4, *loads(kernel, used), f"value = {unbracketed(text)}")
    kernel.emit(4, f"store_{dtype}(x{j}_bar, i, load_masked_{dtype}(x{j}_bar, i, x{j}_mask) + value)")
    kernel.library.add("add")
    kernel.emit(3, f"x{j}_sum += close_{kernel.copied()}(block, {j}, {target})")


def _what(op: Op, direction: str) -> str:
    """What a kernel computes, in words of its row."""
    if direction == "forward":
        return f"y = {spaced(op.primal)}"
    wanted = [(j, spaced(op.partials[j])) for j in op.differentiable_operands]
    if direction == "reverse":
        return "; ".join(f"y_bar * ({text}) to x{j}_bar" for j, text in wanted)
    return "y_dot = " + " + ".join(f"({text}) * x{j}_dot" for j, text in wanted)


def function_text(kernel: Kernel, direction: str) -> str:
    """The whole function."""
    op, dtype = kernel.op, kernel.dtype
    lines = [f"def {op.name}_{direction}_{dtype}(frame: int, loops: int) -> int:"]
    doc = textwrap.wrap(f'"""{_what(op, direction)}."""', 104, break_long_words=False)
    lines += [f"    {line}" for line in doc]
    if any("count" in re.findall(r"\w+", line) for line in kernel.lines):
        lines.append("    count = load_i64(frame, COUNT)")
    if kernel.most:
        lines.append(f"    scratch = stack_words({kernel.most * 256 * SIZES[dtype] // 8})")
    return "\n".join([*lines, *kernel.lines, "    return 0"])

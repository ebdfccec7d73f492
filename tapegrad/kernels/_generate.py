"""Writes the elementwise kernels from the op table: ``python -m tapegrad.kernels._generate [--check]``.

A kernel's text is the row's text, with two changes. A function that is not compiled in line (see
`INLINE`) becomes a call of a library loop that fills a scratch block, before the arithmetic loop that
reads it. And a partial is multiplied by the result's cotangent where that costs least: ``where(c, 1,
0)`` becomes ``where(c, bar, 0)``.
"""

import ast
import re
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

from tapegrad.ops import CONSTANTS, ELEMENTWISE, PRIMALS, Op

INLINE = frozenset(("where", "sqrt", "absolute", "square", "maximum", "minimum", "fmax", "fmin"))
_SYMBOLS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&", ast.BitOr: "|",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_HEADER = "Generated from tapegrad/ops.py by `make gen`; do not edit."
_FOLDER = Path(__file__).parent
_SIZES = {"f64": 8, "f32": 4}
_MODULES = {
    "tapegrad.kernels.arithmetic": tuple(sorted(INLINE)),
    "tapegrad.kernels.blocks": (
        "BLOCK", "bar_#", "call_binary", "call_unary", "operand_#", "operand_u8", "target_#", "target_u8",
        "whole_#",
    ),
    "tapegrad.kernels.cotangents": (
        "close_#", "contributions_#", "end_#", "finish_#", "finish_u8", "load_masked_#", "open_#",
    ),
    "tapegrad.kernels.entries": ("entry",),
    "tapegrad.kernels.frame": ("COUNT", "STRIDE", "X", "X_BAR", "Y", "Y_STRIDE"),
    "tapegrad.kernels.native": ("load_#", "load_i64", "load_u8", "stack_words", "store_#"),
}  # fmt: skip


@dataclass
class Kernel:
    """The text of one kernel as it grows."""

    op: Op
    dtype: str
    lines: list[str] = field(default_factory=list)
    library: set[str] = field(default_factory=set)
    blocks: int = 0  # scratch blocks in use
    most: int = 0

    def scratch(self) -> str:
        """Address of a fresh scratch block."""
        self.blocks += 1
        self.most = max(self.most, self.blocks)
        return f"scratch + {(self.blocks - 1) * 256 * _SIZES[self.dtype]}"

    def entry(self, name: str) -> str:
        """The constant that holds library loop `name`'s number."""
        self.library.add(name)
        return name.upper()

    def emit(self, depth: int, *lines: str) -> None:
        """Append lines at a depth of indentation, broken where they are too long."""
        for line in lines:
            indented = "    " * depth + line
            self.lines += [indented] if len(indented) <= 108 else _wrapped(indented, depth)


def _wrapped(line: str, depth: int) -> list[str]:
    """An assignment too long for a line, its value in brackets over several."""
    head, value = line.split(" = ", 1)
    indent = "    " * (depth + 1)
    body = textwrap.wrap(value, 104, initial_indent=indent, subsequent_indent=indent, break_long_words=False)
    return [f"{head} = (", *body, "    " * depth + ")"]


def _parse(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _is_library_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _function(node) not in INLINE


def _calls_library(node: ast.AST) -> bool:
    return any(map(_is_library_call, ast.walk(node)))


def _function(node: ast.Call) -> str:
    assert isinstance(node.func, ast.Name)
    return node.func.id


def _literal(value: float, dtype: str) -> str:
    return repr(float(value)) if dtype == "f64" else f"float32({float(value)!r})"


def _expression(node: ast.expr, dtype: str) -> str:
    """Text of an expression over elements ``x0_i``, ... and temporaries, in one element type throughout."""
    match node:
        case ast.Constant():
            return _literal(node.value, dtype)  # type: ignore[arg-type]
        case ast.Name():
            return _literal(CONSTANTS[node.id], dtype) if node.id in CONSTANTS else f"{node.id}_i"
        case ast.UnaryOp():
            return f"-{_expression(node.operand, dtype)}"
        case ast.BinOp():
            left, right = (_expression(side, dtype) for side in (node.left, node.right))
            return f"({left} {_SYMBOLS[type(node.op)]} {right})"
        case ast.Compare():
            left, right = (_expression(side, dtype) for side in (node.left, node.comparators[0]))
            return f"({left} {_SYMBOLS[type(node.ops[0])]} {right})"
        case ast.Call():
            arguments = [_unbracketed(_expression(argument, dtype)) for argument in node.args]
            return f"{_function(node)}({', '.join(arguments)})"
    raise TypeError(ast.dump(node))


def _unbracketed(text: str) -> str:
    """`text` without brackets around the whole of it."""
    try:
        inner = text[1:-1]
        return inner if text[0] == "(" and _spaced(inner) == _spaced(text) else text
    except SyntaxError:  # as in (a + b) * (c + d)
        return text


def _is_constant(node: ast.expr) -> bool:
    return all(n.id in CONSTANTS for n in ast.walk(node) if isinstance(n, ast.Name))


def _times_bar(node: ast.expr, dtype: str) -> tuple[str, bool]:
    """Text of `bar` times an expression, and whether it can be NaN though `bar` is zero."""
    match node:
        case ast.Constant(value=0):
            return _literal(0, dtype), False
        case ast.Constant(value=1):
            return "bar", False
        case ast.UnaryOp():
            text, risky = _times_bar(node.operand, dtype)
            return (_literal(0, dtype) if text == _literal(0, dtype) else f"-{text}"), risky
        case ast.Call(args=[condition, first, second]) if _function(node) == "where":
            sides = [_times_bar(side, dtype) for side in (first, second)]
            text = f"where({_unbracketed(_expression(condition, dtype))}, {sides[0][0]}, {sides[1][0]})"
            return text, sides[0][1] or sides[1][1]
        case ast.BinOp(op=ast.Div()) if _is_constant(node.left):
            return f"{_times_bar(node.left, dtype)[0]} / {_expression(node.right, dtype)}", not _is_constant(
                node
            )
    return f"bar * {_expression(node, dtype)}", not _is_constant(node)


class _Hoist(ast.NodeTransformer):
    """Replaces calls of library functions by temporaries, after emitting code that fills these."""

    def __init__(self, kernel: Kernel, depth: int) -> None:
        self.kernel, self.depth = kernel, depth
        self.found: dict[str, str] = {}

    def visit_Call(self, node: ast.Call) -> ast.expr:
        key = ast.dump(node)
        if key not in self.found:
            self.generic_visit(node)
            if not _is_library_call(node):
                return node
            self.found[key] = self._call(node)
        return ast.Name(self.found[key])

    def _call(self, node: ast.Call) -> str:
        """Emit the call; the name of the temporary that holds what it returns."""
        kernel, size = self.kernel, _SIZES[self.kernel.dtype]
        arguments = [self._argument(argument) for argument in node.args]
        owned = [name for name in arguments if name not in PRIMALS and name not in self.found.values()]
        result = owned[0] if owned else self._temporary()
        pairs = [f"{name}, {size}" for name in arguments]
        call = "call_unary" if len(arguments) == 1 else "call_binary"
        entry = kernel.entry(_function(node))
        kernel.emit(self.depth, f"{call}(loops, {entry}, n, {', '.join(pairs)}, {result}, {size})")
        return result

    def _argument(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return node.id
        name = self._temporary()
        _emit_loop(self.kernel, self.depth, name, _expression(node, self.kernel.dtype), node)
        return name

    def _temporary(self) -> str:
        block = self.kernel.scratch()
        name = f"t{self.kernel.blocks}"
        self.kernel.emit(self.depth, f"{name} = {block}")
        return name


def _loads(kernel: Kernel, names: frozenset[str]) -> list[str]:
    """Statements that load the elements `names` at index ``i``."""
    return [_load(kernel, name) for name in sorted(names) if name not in CONSTANTS and name not in INLINE]


def _load(kernel: Kernel, name: str) -> str:
    if name not in PRIMALS:
        return f"{name}_i = load_{kernel.dtype}({name}, i)"
    if name[0] == "x" and int(name[1]) in kernel.op.boolean_operands:
        return f"{name}_i = load_u8({name}, i) != 0"
    return f"{name}_i = load_{kernel.dtype}({name}, i)"


def _names(node: ast.expr) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))


def _emit_loop(kernel: Kernel, depth: int, target: str, value: str, node: ast.expr) -> None:
    """Emit the loop ``target[i] = value``."""
    kernel.emit(depth, "for i in range(n):")
    kernel.emit(depth + 1, *_loads(kernel, _names(node)), f"value = {_unbracketed(value)}")
    kernel.emit(depth + 1, f"store_{kernel.dtype}({target}, i, value)")


def _emit_operands(kernel: Kernel, names: list[str], depth: int) -> None:
    """Emit pointers to the operands' blocks."""
    for name in names:
        boolean = name[0] == "x" and int(name[1]) in kernel.op.boolean_operands
        kind, copy = ("u8", "absolute") if boolean else (kernel.dtype, "positive")
        number = 3 if name == "y" else int(name[1])
        arguments = f"whole, frame, loops, {kernel.entry(copy)}, {number}, start, n, {kernel.scratch()}"
        kernel.emit(depth, f"{name} = operand_{kind}({arguments})")


def _emit_whole(kernel: Kernel, names: list[str]) -> None:
    """Emit the test whether the operands `names` are adjacent in memory."""
    numbers = [3 if name == "y" else int(name[1]) for name in names]
    elements = sum(1 << number for number in numbers if number not in kernel.op.boolean_operands)
    bytes_ = sum(1 << number for number in numbers if number in kernel.op.boolean_operands)
    kernel.emit(1, f"whole = whole_{kernel.dtype}(frame, {elements}, {bytes_})")


def _emit_blocks(kernel: Kernel, entire: bool) -> None:
    """Emit the head of the loop over blocks; where the loop is whole and `entire`, there is one block."""
    kernel.emit(1, "start = 0", "while start < count:")
    kernel.emit(2, "n = count - start")
    kernel.emit(2, "if n > BLOCK and not whole:" if entire else "if n > BLOCK:", "    n = BLOCK")


def _forward(op: Op, dtype: str) -> Kernel:
    """The forward kernel of a row."""
    kernel = Kernel(op, dtype)
    if op.predicate:
        return _forward_by_library(kernel, op.name) if op.arity == 2 else _forward_test(kernel)
    node = _parse(op.primal)
    if (
        isinstance(node, ast.Call)
        and _is_library_call(node)
        and all(isinstance(a, ast.Name) for a in node.args)
    ):
        return _forward_by_library(kernel, _function(node))
    operands = [f"x{j}" for j in range(op.arity)]
    _emit_whole(kernel, [*operands, "y"])
    _emit_blocks(kernel, not _calls_library(node))
    _emit_operands(kernel, operands, 2)
    target = kernel.scratch()
    kernel.emit(2, f"y = target_{dtype}(whole, frame, 3, start, {target})")
    final = _Hoist(kernel, 2).visit(node)
    _emit_loop(kernel, 2, "y", _expression(final, dtype), final)
    kernel.emit(
        2,
        f"finish_{dtype}(whole, frame, loops, {kernel.entry('positive')}, start, n, {target})",
        "start += n",
    )
    return kernel


def _forward_by_library(kernel: Kernel, name: str) -> Kernel:
    """A kernel that is a library loop and nothing else."""
    pairs = [f"load_i64(frame, X + {j}), load_i64(frame, STRIDE + {j})" for j in range(kernel.op.arity)]
    call = "call_unary" if len(pairs) == 1 else "call_binary"
    result = "load_i64(frame, Y), load_i64(frame, Y_STRIDE)"
    lines = [f"{pair}," for pair in (f"loops, {kernel.entry(name)}, count", *pairs, result)]
    kernel.emit(1, f"{call}(", *[f"    {line}" for line in lines], ")")
    return kernel


def _forward_test(kernel: Kernel) -> Kernel:
    """A test of one operand.

    NumPy 2.4's loops go wrong where the results are not adjacent, so they are always given a block that is.
    """
    kernel.emit(1, "stride = load_i64(frame, STRIDE)", f"whole = whole_{kernel.dtype}(frame, 0, 8)")
    _emit_blocks(kernel, True)
    target = kernel.scratch()
    kernel.emit(2, f"y = target_u8(whole, frame, 3, start, {target})")
    x0 = "load_i64(frame, X) + start * stride"
    kernel.emit(2, f"call_unary(loops, {kernel.entry(kernel.op.name)}, n, {x0}, stride, y, 1)")
    kernel.emit(
        2, f"finish_u8(whole, frame, loops, {kernel.entry('absolute')}, start, n, {target})", "start += n"
    )
    return kernel


def _reverse(op: Op, dtype: str) -> Kernel:
    """The reverse kernel of a row."""
    kernel = Kernel(op, dtype)
    wanted = [j for j in range(op.arity) if j not in op.boolean_operands]
    read = sorted(frozenset[str]().union(*(op.needs(j) for j in wanted)))
    _emit_whole(kernel, sorted({*(f"x{j}" for j in wanted), *read, "y"}))
    for j in wanted:
        kernel.emit(1, f"x{j}_mask = open_{dtype}(whole, frame, {j})", f"x{j}_sum = 0.0")
    _emit_blocks(kernel, not any(_calls_library(_parse(op.partials[j])) for j in wanted))
    if any(op.partials[j] != "0" for j in wanted):
        bar = f"whole, frame, loops, {kernel.entry('positive')}, 3, start, n, {kernel.scratch()}"
        kernel.emit(2, f"y_bar = bar_{dtype}({bar})")
    _emit_operands(kernel, read, 2)
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
    kernel.emit(3, f"x{j}_bar = contributions_{dtype}(whole, frame, {j}, start, {target})")
    node = _Hoist(kernel, 3).visit(_parse(kernel.op.partials[j]))
    text, risky = _times_bar(node, dtype)
    kernel.emit(3, "for i in range(n):")
    if "bar" in re.findall(r"\w+", text):
        kernel.emit(4, f"bar = load_{dtype}(y_bar, i)")
    used = frozenset(name for name in _names(node) if re.search(rf"\b{name}_i\b", text))
    kernel.emit(4, *_loads(kernel, used), f"value = {_unbracketed(text)}")
    if risky:
        zero = _literal(0, dtype)
        kernel.emit(4, f"value = where(bar == {zero}, {zero}, value)")
    kernel.emit(4, f"store_{dtype}(x{j}_bar, i, load_masked_{dtype}(x{j}_bar, i, x{j}_mask) + value)")
    entries = f"{kernel.entry('positive')}, {kernel.entry('add')}"
    kernel.emit(3, f"x{j}_sum += close_{dtype}(whole, frame, loops, {entries}, {j}, start, n, {target})")


def _spaced(text: str) -> str:
    return ast.unparse(_parse(text))


def _function_text(kernel: Kernel, direction: str) -> str:
    """The whole function."""
    op, dtype = kernel.op, kernel.dtype
    what = (
        f"y = {_spaced(op.primal)}"
        if direction == "forward"
        else "; ".join(
            f"y_bar * ({_spaced(text)}) to x{j}_bar"
            for j, text in enumerate(op.partials)
            if j not in op.boolean_operands
        )
    )
    lines = [f"def {op.name}_{direction}_{dtype}(frame: int, loops: int) -> int:"]
    doc = textwrap.wrap(f'"""{what}."""', 104, break_long_words=False)
    lines += [f"    {line}" for line in doc]
    lines.append("    count = load_i64(frame, COUNT)")
    if kernel.most:
        lines.append(f"    scratch = stack_words({kernel.most * 256 * _SIZES[dtype] // 8})")
    return "\n".join([*lines, *kernel.lines, "    return 0"])


def module_text(family: str, dtype: str) -> str:
    """The generated file of one family of rows and one element type."""
    functions, library = [], {}
    for op in ELEMENTWISE:
        if op.family == family:
            for direction, make in (("forward", _forward), ("reverse", _reverse))[: 1 if op.predicate else 2]:
                kernel = make(op, dtype)
                functions.append(_function_text(kernel, direction))
                library[f"{op.name}_{direction}_{dtype}"] = tuple(sorted(kernel.library))
    return _assemble(f"Elementwise kernels in {dtype}: {family}.", dtype, functions, library)


def _assemble(title: str, dtype: str, functions: list[str], library: dict[str, tuple[str, ...]]) -> str:
    entries = sorted(set().union(*library.values()))
    body = "\n\n\n".join(functions)
    letter = {"f64": "d", "f32": "f"}[dtype]
    constants = [f'{name.upper()} = entry("{name}", "{letter}")' for name in entries]
    flags = 'FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}'
    table = ["LIBRARY: dict[str, tuple[str, ...]] = {", *(_library_row(*row) for row in library.items()), "}"]
    head = [f'"""{title}\n\n{_HEADER}\n"""', "", *_imports(body, dtype), "", *constants, "", flags, *table]
    return "\n".join(head) + "\n\n\n" + body + "\n"


def _library_row(function: str, names: tuple[str, ...]) -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return f'    "{function}": ({quoted}{"," if len(names) == 1 else ""}),'


def _imports(body: str, dtype: str) -> list[str]:
    """Import statements for the names that `body` uses."""
    code = re.sub(r'""".*?"""', "", body, flags=re.DOTALL)
    used = set(re.findall(r"[A-Za-z_]\w*", code)) | {"entry"}
    lines = ["from numba import float32", ""] if "float32" in used else []
    for module, names in _MODULES.items():
        found = [name.replace("#", dtype) for name in names if name.replace("#", dtype) in used]
        found.sort(key=lambda name: (name.islower(), len(name) == 1, name))
        line = f"from {module} import {', '.join(found)}"
        if len(line) > 110:
            line = f"from {module} import (\n" + "".join(f"    {name},\n" for name in found) + ")"
        lines += [line] if found else []
    return lines


def files() -> dict[Path, str]:
    """Every generated file and its text."""
    families = dict.fromkeys(op.family for op in ELEMENTWISE)
    return {
        _FOLDER / f"elementwise_{family}_{dtype}.py": module_text(family, dtype)
        for family in families
        for dtype in _SIZES
    }


def main(arguments: list[str]) -> int:
    """Write the files, or with ``--check`` say which differ; the exit status."""
    differing = [path for path, text in files().items() if not path.exists() or path.read_text() != text]
    if "--check" in arguments:
        for path in differing:
            print(f"{path}: differs from the op table; run `make gen`", file=sys.stderr)
        return int(bool(differing))
    for path in differing:
        path.write_text(files()[path])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

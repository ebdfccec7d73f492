"""The text of one kernel as it grows: scratch blocks, loops, and library calls taken out of expressions."""

import ast
import textwrap
from dataclasses import dataclass, field

from tapegrad.engine.codegen.expressions import INLINE, expression, function_of, is_library_call, unbracketed
from tapegrad.engine.kernels.library import entry
from tapegrad.ops import CONSTANTS, PRIMALS, Op

SIZES = {"f64": 8, "f32": 4}


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
        return f"scratch + {(self.blocks - 1) * 256 * SIZES[self.dtype]}"

    def scratches(self, count: int) -> str:
        """Address of so many fresh scratch blocks, one after the other."""
        first, *_ = [self.scratch() for _ in range(count)]
        return first

    def entry(self, name: str) -> str:
        """The constant that holds library loop `name`'s number, if there is such a loop."""
        try:
            entry(name)
        except LookupError as error:
            raise LookupError(f"{self.op.name}: {error}") from None
        self.library.add(name)
        return name.upper()

    def copied(self, boolean: bool = False) -> str:
        """The suffix of an intrinsic that copies blocks, by a library loop that the kernel needs for that."""
        self.library.add("absolute" if boolean else "positive")
        return "u8" if boolean else self.dtype

    def emit(self, depth: int, *lines: str) -> None:
        """Append lines at a depth of indentation, broken where they are too long."""
        for line in lines:
            indented = "    " * depth + line
            self.lines += [indented] if len(indented) <= 108 else _wrapped(indented, depth)


def _wrapped(line: str, depth: int) -> list[str]:
    """A line that is too long, the value of an assignment or the arguments of a call in brackets over several."""
    head, equals, value = line.partition(" = ")
    if not equals:
        call, _, arguments = line.partition("(")
        head, value = f"{call}(", arguments.removesuffix(")")
    else:
        head += " = ("
    indent = "    " * (depth + 1)
    body = textwrap.wrap(value, 104, initial_indent=indent, subsequent_indent=indent, break_long_words=False)
    return [head, *body, "    " * depth + ")"]


class Hoist(ast.NodeTransformer):
    """Replaces calls of library functions by temporaries, after emitting code that fills these."""

    def __init__(self, kernel: Kernel, depth: int) -> None:
        self.kernel, self.depth = kernel, depth
        self.found: dict[str, str] = {}

    def visit_Call(self, node: ast.Call) -> ast.expr:
        key = ast.dump(node)
        if key not in self.found:
            self.generic_visit(node)
            if not is_library_call(node):
                return node
            self.found[key] = self._call(node)
        return ast.Name(self.found[key])

    def _call(self, node: ast.Call) -> str:
        """Emit the call; the name of the temporary that holds what it returns."""
        kernel, size = self.kernel, SIZES[self.kernel.dtype]
        arguments = [self._argument(argument) for argument in node.args]
        owned = [name for name in arguments if name not in PRIMALS and name not in self.found.values()]
        result = owned[0] if owned else self._temporary()
        arrays = ", ".join(f"{name}, {size}" for name in (*arguments, result))
        kernel.emit(self.depth, f"call_library(loops, {kernel.entry(function_of(node))}, n, ({arrays}))")
        return result

    def _argument(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return node.id
        name = self._temporary()
        emit_loop(self.kernel, self.depth, name, expression(node, self.kernel.dtype), node)
        return name

    def _temporary(self) -> str:
        block = self.kernel.scratch()
        name = f"t{self.kernel.blocks}"
        self.kernel.emit(self.depth, f"{name} = {block}")
        return name


def loads(kernel: Kernel, names: frozenset[str]) -> list[str]:
    """Statements that load the elements `names` at index ``i``."""
    return [_load(kernel, name) for name in sorted(names) if name not in CONSTANTS and name not in INLINE]


def _load(kernel: Kernel, name: str) -> str:
    if name not in PRIMALS:
        return f"{name}_i = load_{kernel.dtype}({name}, i)"
    if name[0] == "x" and int(name[1]) in kernel.op.boolean_operands:
        return f"{name}_i = load_u8({name}, i) != 0"
    return f"{name}_i = load_{kernel.dtype}({name}, i)"


def names_read(node: ast.expr) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))


def emit_loop(kernel: Kernel, depth: int, target: str, value: str, node: ast.expr) -> None:
    """Emit the loop ``target[i] = value``."""
    kernel.emit(depth, "for i in range(n):")
    kernel.emit(depth + 1, *loads(kernel, names_read(node)), f"value = {unbracketed(value)}")
    kernel.emit(depth + 1, f"store_{kernel.dtype}({target}, i, value)")

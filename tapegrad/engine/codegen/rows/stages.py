"""Expressions split at their calls of NumPy and SciPy loops, whose operands and result are blocks in memory."""

import ast
import copy
from dataclasses import dataclass, field

from tapegrad.engine.codegen.rows.expressions import function_of, is_library_call


@dataclass(frozen=True)
class Computed:
    """A temporary block whose elements are an expression."""

    name: str
    node: ast.expr


@dataclass(frozen=True)
class Called:
    """A temporary block that a library loop fills from others."""

    name: str
    function: str
    arguments: tuple[str, ...]


@dataclass
class Stages(ast.NodeTransformer):
    """Stages of a block before its last loop, in order."""

    prefix: str = "t"
    steps: list[Computed | Called] = field(default_factory=list)
    _found: dict[str, str] = field(default_factory=dict)

    def cut(self, node: ast.expr) -> ast.expr:
        """Replace the library calls in an expression by temporaries."""
        result = self.visit(copy.deepcopy(node))
        assert isinstance(result, ast.expr)
        return result

    def visit_Call(self, node: ast.Call) -> ast.expr:
        key = ast.dump(node)
        if key in self._found:
            return ast.Name(self._found[key])
        self.generic_visit(node)
        if not is_library_call(node):
            return node
        arguments = tuple(self._block(argument) for argument in node.args)
        self._found[key] = self._temporary()
        self.steps.append(Called(self._found[key], function_of(node), arguments))
        return ast.Name(self._found[key])

    def _block(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name) and node.id[:1] in "xyt":
            return node.id
        name = self._temporary()
        self.steps.append(Computed(name, node))
        return name

    def _temporary(self) -> str:
        return f"{self.prefix}{len(self.steps) + 1}"

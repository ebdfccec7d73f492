"""Expressions split at their calls of NumPy and SciPy loops, whose operands and result are blocks in memory."""

import ast
import copy
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tapegrad.engine.codegen.rows.expressions import FUNCTIONS, function_of, is_library_call, parse
from tapegrad.engine.kernels.language.library import COMPLEX_SIGNATURES
from tapegrad.ops import PRIMALS


@dataclass(frozen=True)
class Computed:
    """A temporary block whose elements are an expression, real ones also where the row's numbers are complex."""

    name: str
    node: ast.expr
    is_real: bool = False


@dataclass(frozen=True)
class Called:
    """A temporary block that a library loop fills from others."""

    name: str
    function: str
    arguments: tuple[str, ...]


class Stages(ast.NodeTransformer):
    """Expressions that the last loop over a block evaluates, and the stages before it.

    Attributes
    ----------
    steps
        The stages, in order.
    nodes
        An expression for each text, with temporaries in the place of library calls.
    """

    def __init__(
        self, texts: Iterable[str], prefix: str = "t", functions: Collection[str] = FUNCTIONS
    ) -> None:
        self._prefix, self._functions = prefix, functions
        self._found: dict[str, str] = {}
        self.steps: list[Computed | Called] = []
        self.nodes: list[ast.expr] = [self.visit(copy.deepcopy(parse(text))) for text in texts]

    @property
    def expressions(self) -> list[ast.expr]:
        """Expressions of the last loop and of the stages before it."""
        return [*self.nodes, *(step.node for step in self.steps if isinstance(step, Computed))]

    @property
    def primals_read(self) -> list[str]:
        """The names of the primals that expressions and library loops read."""
        called = {name for step in self.steps if isinstance(step, Called) for name in step.arguments}
        names = {n.id for node in self.expressions for n in ast.walk(node) if isinstance(n, ast.Name)}
        return sorted((names | called) & PRIMALS)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        key = ast.dump(node)
        if key in self._found:
            return ast.Name(self._found[key])
        self.generic_visit(node)
        if not is_library_call(node, self._functions):
            return node
        kinds = COMPLEX_SIGNATURES.get(function_of(node), "")
        arguments = tuple(self._block(each, kinds[k : k + 1] == "d") for k, each in enumerate(node.args))
        self._found[key] = self._temporary()
        self.steps.append(Called(self._found[key], function_of(node), arguments))
        return ast.Name(self._found[key])

    def _block(self, node: ast.expr, is_real: bool) -> str:
        if isinstance(node, ast.Name) and node.id[:1] in "xyt":
            return node.id
        name = self._temporary()
        self.steps.append(Computed(name, node, is_real))
        return name

    def _temporary(self) -> str:
        return f"{self._prefix}{len(self.steps) + 1}"

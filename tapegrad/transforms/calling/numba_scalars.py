"""Numbers as Numba has them: they do not change, where a Tensor without dimensions would.

To Numba ``total += x[i]`` binds a new number, and ``a = x[i]`` is a number of its own, whatever is written to `x`
afterwards. The source of functions that write is therefore rewritten before it is recorded.
"""

import ast
import copy
import dis
import inspect
import operator
import types
from collections.abc import Callable
from typing import Any

from tapegrad.engine.codegen.translator.definitions import definition
from tapegrad.frontend.recording.shape import contiguous
from tapegrad.frontend.tensor.tensor import is_tensor

_STORES = {"STORE_SUBSCR", "STORE_SLICE", "DELETE_SUBSCR"}
_WRITERS = {"fill", "sort", "copyto", "put", "fill_diagonal", "partition"}
_ITEM, _UPDATE, _PARTS = "_tapegrad_item", "_tapegrad_update", "_tapegrad_parts"


def writes(code: types.CodeType) -> bool:
    """Return whether a function may write in place."""
    if _WRITERS & set(code.co_names):
        return True
    return any(
        each.opname in _STORES or (each.opname == "BINARY_OP" and each.argrepr.endswith("="))
        for each in dis.get_instructions(code)
    )


def rewritten(function: Any) -> types.CodeType:
    """Rewrite the code of a function so that its numbers are those of Numba. It calls those of `HELPERS`.

    Raises
    ------
    TypeError
        If the source of the function cannot be read, or is no longer that of its code.
    """
    tree = definition(function)
    if tree is None:
        raise TypeError(
            f"the @njit function {function.__qualname__} writes in place, and its source, which is needed to record"
            " it, cannot be read or has changed since it was imported; define it by def in a file, and start Python"
            " anew or reload the module after a change of that file"
        )
    found = copy.deepcopy(tree)
    found.decorator_list, found.returns = [], None
    outer = _inside_of(function.__code__.co_freevars, _Rewriter().visit(found))
    compiled = compile(ast.fix_missing_locations(outer), function.__code__.co_filename, "exec")
    return _code_named(found.name, compiled)


def _inside_of(names: tuple[str, ...], function: ast.stmt) -> ast.Module:
    """Return the function inside of one that binds the names of its closure."""
    if not names:
        return ast.Module([function], [])
    outer: Any = ast.parse("def _tapegrad_outer():\n    pass")
    bound = [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)) for name in names]
    outer.body[0].body = [*bound, function]
    return outer  # type: ignore[no-any-return]  # Numba has no types


def _code_named(name: str, code: types.CodeType) -> types.CodeType:
    """Return the code of a function that is defined inside a code object."""
    inner = [constant for constant in code.co_consts if inspect.iscode(constant)]
    for each in inner:
        if each.co_name == name:
            return each
    return _code_named(name, inner[0])


class _Rewriter(ast.NodeTransformer):
    """Calls helpers where an element is read, and where a name is updated."""

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        old = ast.Name(node.target.id, ast.Load())
        call = _call(_UPDATE, ast.Constant(type(node.op).__name__), old, node.value)
        return ast.copy_location(ast.Assign([node.target], call), node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        return _call(_ITEM, node) if isinstance(node.ctx, ast.Load) else node

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        node.iter = _call(_PARTS, node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        self.generic_visit(node)
        node.iter = _call(_PARTS, node.iter)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("enumerate", "zip"):
            node.args = [_call(_PARTS, each) for each in node.args]
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        if any(isinstance(target, ast.Tuple | ast.List) for target in node.targets):
            node.value = _call(_PARTS, node.value)
        return node


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _item(value: Any) -> Any:
    """Return an element as a number of its own."""
    return contiguous(value) if is_tensor(value) and value.ndim == 0 else value


def _parts(value: Any) -> Any:
    """Yield the items of an iteration, each as it is when its turn comes."""
    return (_item(part) for part in value) if is_tensor(value) else value


_OPERATORS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "Add": (operator.add, operator.iadd), "Sub": (operator.sub, operator.isub),
    "Mult": (operator.mul, operator.imul), "Div": (operator.truediv, operator.itruediv),
    "FloorDiv": (operator.floordiv, operator.ifloordiv), "Mod": (operator.mod, operator.imod),
    "Pow": (operator.pow, operator.ipow), "MatMult": (operator.matmul, operator.imatmul),
    "BitAnd": (operator.and_, operator.iand), "BitOr": (operator.or_, operator.ior),
    "BitXor": (operator.xor, operator.ixor), "LShift": (operator.lshift, operator.ilshift),
    "RShift": (operator.rshift, operator.irshift),
}  # fmt: skip


def _update(name: str, value: Any, other: Any) -> Any:
    """Apply an in-place operator, which binds a new number and writes to an array."""
    plain, in_place = _OPERATORS[name]
    return plain(value, other) if is_tensor(value) and value.ndim == 0 else in_place(value, other)


HELPERS: dict[str, Any] = {_ITEM: _item, _UPDATE: _update, _PARTS: _parts}

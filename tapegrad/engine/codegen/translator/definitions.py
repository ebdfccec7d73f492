"""Definitions in source files: the syntax tree of a function, if its file still says what was imported.

A file may have been edited, or the package upgraded, since. A tree counts as a function's definition only if it
compiles to the function's own code.
"""

import __future__

import ast
import functools
import itertools
import linecache
from collections.abc import Iterable, Iterator
from types import CodeType
from typing import Any

_FUTURE = functools.reduce(
    int.__or__, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)


def definition(function: Any) -> ast.FunctionDef | None:
    """Return the syntax tree of a Python function; `None` if no text is found, or if the text means another function.

    The caller must not change the tree.
    """
    code: CodeType = function.__code__
    found = _matching(code)
    if (
        found is None and code.co_filename in _files
    ):  # it may be the file that was imported, and older text was kept
        del _files[code.co_filename]
        linecache.checkcache(code.co_filename)
        found = _matching(code)
    return found


class _File:
    """The syntax tree of a file, and the functions in it by the lines on which they or their decorators begin."""

    def __init__(self, name: str) -> None:
        self.name = name
        try:
            self.tree = ast.parse("".join(linecache.getlines(name)))
        except (SyntaxError, ValueError):  # ValueError: null bytes
            self.tree = ast.Module([], [])
        nodes = [node for node in _statements(self.tree.body) if isinstance(node, ast.FunctionDef)]
        self.functions = {line: node for node in nodes for line in _first_lines(node)}
        self.imports = [node for node in self.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]

    def codes_of(self, body: Iterable[ast.stmt], flags: int) -> set[CodeType]:
        """Return the code of all functions that some of the file's statements define."""
        whole = compile(ast.Module([*body], []), self.name, "exec", flags=flags, dont_inherit=True)
        return set(map(_without_positions, _codes_in(whole)))

    @functools.cached_property
    def codes(self) -> set[CodeType]:
        """The code of all functions of the file."""
        return self.codes_of(self.tree.body, 0)


def _statements(body: Iterable[Any]) -> Iterator[Any]:
    """Yield statements, and those in them; expressions, of which there are far more, are not looked into."""
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from _statements(getattr(node, part, ()))


def _first_lines(node: ast.FunctionDef) -> list[int]:
    return [node.lineno, *(decorator.lineno for decorator in node.decorator_list)]


_files: dict[str, _File] = {}


def _matching(code: CodeType) -> ast.FunctionDef | None:
    """Return the function on the code's first line if it compiles to that code."""
    if code.co_filename not in _files:
        _files[code.co_filename] = _File(code.co_filename)
    file = _files[code.co_filename]
    node = file.functions.get(code.co_firstlineno)
    if node is None or node.name != code.co_name:
        return None
    # To compile the function alone takes a tenth of the time; what names are at the top of a file depends on imports.
    # IPython compiles each statement of a cell by itself, without the imports that stand before it.
    own, flags = _without_positions(code), code.co_flags & _FUTURE
    if (
        any(own in file.codes_of(body, flags) for body in ([*file.imports, node], [node]))
        or own in file.codes
    ):
        return node
    return None


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of the functions that are defined in some code."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return itertools.chain(inner, *map(_codes_in, inner))


def _without_positions(code: CodeType) -> CodeType:
    """Return the code without file name and columns: a .pyc file may have been written without columns."""
    constants = tuple(
        _without_positions(each) if isinstance(each, CodeType) else each for each in code.co_consts
    )
    return code.replace(co_consts=constants, co_filename="", co_linetable=b"")

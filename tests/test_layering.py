"""Imports point one way: from the transforms down to the tape and the kernels, and nowhere upwards."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import tapegrad

PACKAGE = Path(tapegrad.__file__).parent
FILES = {
    ".".join(("tapegrad", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
NUMERICAL = {"numba", "llvmlite", "numpy", "math"}
# The parts of the package from the bottom to the top: each may import what stands before it.
ORDER = (
    "interpreter", "copies", "messages", "processors", "cache_files", "cache", "locks", "announcer", "compiler",
    "kernels", "library", "ops", "generate", "tape", "sweep", "threads",
    "errors", "fences", "loader", "checker", "views", "show", "callers", "state", "notes", "dependence", "inspection",
    "storage", "anomaly", "record", "keys", "structural", "shaping", "elementwise", "reductions", "writes",
    "indexing", "linalg", "joining", "creation",
    "escapes", "names", "custom", "outcomes", "predicates", "derivatives", "backward", "protocols", "tensor",
    "recording", "passes", "tree", "watch", "transforms", "checking", "optimize", "", "nist", "cli",
    "__main__",
)  # fmt: skip
# Compiled code and what carries it may import even less.
STRICT: dict[str, tuple[str, ...]] = {
    "kernels": (),
    "messages": (),
    "processors": (),
    "cache_files": (),
    "cache": ("cache_files", "messages"),
    "announcer": ("cache", "messages"),
    "compiler": ("cache", "announcer"),
    "library": ("kernels",),
    "ops": ("library",),
    "generate": ("ops", "kernels"),
    "tape": ("kernels", "compiler", "cache", "copies"),
    "sweep": ("tape", "kernels", "compiler", "cache"),
    "errors": ("tape",),
}


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _statements(node: ast.AST, everywhere: bool) -> Iterator[ast.stmt]:
    """Import statements, also those inside functions if `everywhere`; never those for type checkers only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif (everywhere or not isinstance(child, ast.FunctionDef)) and not _is_type_checking(child):
            yield from _statements(child, everywhere)


def _names(module: str, node: ast.stmt) -> list[str]:
    """Full names of what a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert isinstance(node, ast.ImportFrom)
    start = node.module or ""
    if node.level:
        is_package = FILES[module].name == "__init__.py"
        parts = module.split(".")[: len(module.split(".")) - node.level + is_package]
        start = ".".join([*parts, *([start] if start else [])])
    return [f"{start}.{alias.name}" if f"{start}.{alias.name}" in FILES else start for alias in node.names]


@cache
def imports(module: str, everywhere: bool = True) -> frozenset[str]:
    tree = ast.parse(FILES[module].read_text())
    return frozenset(name for node in _statements(tree, everywhere) for name in _names(module, node))


def own(module: str, everywhere: bool = True) -> frozenset[str]:
    return frozenset(name for name in imports(module, everywhere) if name.partition(".")[0] == "tapegrad")


def part(module: str) -> str:
    """The part of the package that a module belongs to: the second component of its name."""
    return [*module.split("."), ""][1]


def may_import(module: str) -> tuple[str, ...]:
    name = part(module)
    return (*STRICT.get(name, ORDER[: ORDER.index(name)]), name)


@pytest.mark.parametrize("module", FILES)
def test_imports_point_downwards(module: str) -> None:
    assert {part(name) for name in own(module)} <= set(may_import(module))


def test_parts_are_known() -> None:
    """A new part of the package is given its place in the order above."""
    assert {part(module) for module in FILES} <= set(ORDER)


KERNELS = [m for m in FILES if part(m) == "kernels"]


@pytest.mark.parametrize("module", KERNELS)
def test_kernels_import_numerical_libraries_only(module: str) -> None:
    others = imports(module) - own(module)
    assert {name.partition(".")[0] for name in others} <= NUMERICAL | {"typing", "collections"}


@pytest.mark.parametrize("module", [m for m in FILES if part(m) in ("tape", "sweep")])
def test_tape_and_sweep_are_compiled_code(module: str) -> None:
    others = {name.partition(".")[0] for name in imports(module) - own(module)}
    assert others <= NUMERICAL | sys.stdlib_module_names


def test_importing_the_package_imports_no_optional_library() -> None:
    reached, waiting = {"tapegrad"}, ["tapegrad"]
    while waiting:
        new = (own(waiting.pop(), everywhere=False) & FILES.keys()) - reached
        reached |= new
        waiting += new
    outside = {name.partition(".")[0] for module in reached for name in imports(module, everywhere=False)}
    assert outside <= NUMERICAL | sys.stdlib_module_names | {"tapegrad"}


def test_no_module_imports_itself_through_others() -> None:
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join((*way[way.index(module) :], module))
        if module not in done:
            for name in own(module, everywhere=False) & FILES.keys():
                visit(name, (*way, module))
            done.add(module)

    for module in FILES:
        visit(module, ())

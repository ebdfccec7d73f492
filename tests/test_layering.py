"""Imports point one way: from the transforms down to the tape and the kernels, and nowhere upwards."""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import tapegrad

PACKAGE = Path(tapegrad.__file__).parent
# All modules, without the stub of the package itself, which imports them
FILES = {
    ".".join(("tapegrad", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted([*PACKAGE.rglob("*.py"), *PACKAGE.glob("*/**/*.pyi")])
}
NUMERICAL = {"numba", "llvmlite", "numpy", "math"}
# The rooms of the package from the bottom to the top: each imports only itself and what stands before it.
ORDER = (
    "errors", "foreign", "pytree",
    "ops", "engine", "frontend", "linalg", "special", "stats", "autodiff", "program", "transforms", "optimize",
    "interop", "testing", "", "examples", "cli", "__main__",
)  # fmt: skip
ROOMS = set(ORDER) - {"errors", "foreign", "pytree", "linalg", "special", "", "__main__"}
# The same inside the engine; compiled code, and what carries it, may import even less.
ENGINE = (
    "kernels", "runtime", "reference", "codegen", "emitter", "tape", "sweep", "threads", "guard_pages", "status",
    "kernel_table", "view_columns", "bound_kernels", "plain_arrays", "dependence", "tape_entries", "tape_columns",
    "tape_view", "verify", "view_names", "printing", "",
)  # fmt: skip
STRICT: dict[str, tuple[str, ...]] = {
    "kernels": (),
    "runtime": ("kernels",),
    "codegen": ("kernels", "reference"),
    "emitter": ("kernels", "runtime"),
    "tape": ("kernels", "runtime"),
    "sweep": ("tape", "kernels", "runtime"),
}


def _statements(node: ast.AST, everywhere: bool) -> Iterator[ast.stmt]:
    """Import statements, those for type checkers too; those inside functions if `everywhere`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif everywhere or not isinstance(child, ast.FunctionDef):
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


def room(module: str) -> str:
    """The room that a module belongs to: the second component of its name."""
    return [*module.split("."), ""][1]


def engine_part(module: str) -> str:
    """The part of the engine that a module of it belongs to."""
    return [*module.split("."), ""][2]


# What knows NumPy's functions by name, and stands on them; the rest of the frontend carries them.
ABOVE_FUNCTIONS = {"", "numpy_protocols", "numpys_own", "coverage"}


@pytest.mark.parametrize("module", [module for module in FILES if room(module) == "frontend"])
def test_functions_stand_on_the_frontend(module: str) -> None:
    part = [*module.split("."), ""][2]
    if part != "functions" and part not in ABOVE_FUNCTIONS:
        assert not [name for name in own(module) if name.startswith("tapegrad.frontend.functions")]


@pytest.mark.parametrize("module", FILES)
def test_imports_point_downwards(module: str) -> None:
    """Those under `TYPE_CHECKING`, and those inside functions, count like any other."""
    name = room(module)
    assert {room(name) for name in own(module)} <= set(ORDER[: ORDER.index(name) + 1])


def test_the_root_holds_rooms_and_little_else() -> None:
    """A new file is given a room; the listing of the root is the architecture."""
    listed = {path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"}
    files = {
        "__init__.py",
        "__init__.pyi",
        "__main__.py",
        "errors.py",
        "linalg.py",
        "special.py",
        "special.pyi",
        "foreign.py",
        "pytree.py",
        "py.typed",
        "LICENSE",
    }
    assert ROOMS <= listed <= ROOMS | files
    assert {room(module) for module in FILES} == set(ORDER)


def test_tests_are_where_the_rooms_are() -> None:
    """Tests of a room are in the folder of its name; tests of the whole package are above them."""
    folders = {path.parent.name for path in Path(__file__).parent.glob("*/test_*.py")}
    assert folders == ROOMS


PACKAGES = [
    module for module, path in FILES.items()
    if path.name == "__init__.py" and module != "tapegrad"
]  # fmt: skip


@pytest.mark.parametrize("package", PACKAGES)
def test_a_room_lists_its_files(package: str) -> None:
    """Its docstring names each with a few words, in reading order: it is the newcomer's map."""
    text = ast.get_docstring(ast.parse(FILES[package].read_text())) or ""
    lists = re.findall(r"^    ([a-z_]+(?:, [a-z_]+)*)  +\S", text, re.MULTILINE)
    listed = [name for names in lists for name in names.split(", ")]
    held = {
        path.stem for path in FILES[package].parent.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    } - {"__init__", "__main__"}  # fmt: skip
    assert len(listed) == len(set(listed)), f"the docstring of {package} lists a file twice"
    missing, gone = sorted(held - set(listed)), sorted(set(listed) - held)
    assert not missing, f"the docstring of {package} does not say what is in {', '.join(missing)}"
    assert not gone, f"the docstring of {package} lists {', '.join(gone)}, which is not there"


ENGINE_MODULES = [m for m in FILES if room(m) == "engine"]


@pytest.mark.parametrize("module", ENGINE_MODULES)
def test_imports_inside_the_engine_point_downwards(module: str) -> None:
    name = engine_part(module)
    allowed = {*STRICT.get(name, ENGINE[: ENGINE.index(name)]), name}
    assert {engine_part(other) for other in own(module) if room(other) == "engine"} <= allowed


@pytest.mark.parametrize(
    "module", [m for m in ENGINE_MODULES if engine_part(m) in ("kernels", "tape", "sweep")]
)
def test_compiled_code_knows_no_table(module: str) -> None:
    """Of the table it knows what the parameters of an op are called, which the digest of the cache covers."""
    assert {other for other in own(module) if room(other) != "engine"} <= {"tapegrad.ops.params"}


def test_parameters_of_ops_import_nothing() -> None:
    assert not own("tapegrad.ops.params")


KERNELS = [m for m in ENGINE_MODULES if engine_part(m) == "kernels"]


@pytest.mark.parametrize("module", KERNELS)
def test_kernels_import_numerical_libraries_only(module: str) -> None:
    others = imports(module) - own(module)
    assert {name.partition(".")[0] for name in others} <= NUMERICAL | {"typing", "collections", "operator"}


@pytest.mark.parametrize("module", [m for m in ENGINE_MODULES if engine_part(m) in ("tape", "sweep")])
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

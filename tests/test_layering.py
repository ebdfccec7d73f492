"""Imports point one way: from the transforms down to the tape and the kernels, and inside of every folder."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import tapegrad
from size import lines_of

PACKAGE = Path(tapegrad.__file__).parent
# All modules, without the stub of the package itself, which imports them
FILES = {
    ".".join(("tapegrad", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted([*PACKAGE.rglob("*.py"), *PACKAGE.glob("*/**/*.pyi")])
}
PACKAGES = [m for m, path in FILES.items() if path.name == "__init__.py" and m != "tapegrad"]
NUMERICAL = {"numba", "llvmlite", "numpy", "math"}
# The rooms of the package from the bottom to the top: each imports only itself and what stands before it. Inside of a
# room the order is the one in which the docstring of each folder lists what it holds.
ORDER = (
    "errors", "foreign", "pytree",
    "ops", "engine", "frontend", "fft", "special", "stats", "autodiff", "sparse", "linalg", "polynomial", "program",
    "transforms", "loops", "implicit", "integrate", "interpolate", "signal", "ndimage", "latent", "optimize", "interop",
    "testing", "", "examples", "cli", "__main__",
)  # fmt: skip
ROOMS = set(ORDER) - {"errors", "fft", "foreign", "pytree", "linalg", "polynomial", "special", "", "__main__"}
# Compiled code may import even less than what stands below it.
STRICT: dict[str, set[str]] = {
    "kernels": set(),
    "runtime": {"kernels"},
    "codegen": {"kernels", "runtime"},
    "tape": {"kernels", "runtime", "codegen"},
    "sweep": {"tape", "kernels", "runtime", "codegen"},
}
MAX_BOXES = 14  # of a folder: more are not taken in at a glance
MAX_LINES = 400  # of code and imports in a file
MIN_LINES = 40  # of a file that one other file alone imports
# Files that stand by themselves though they are small: each is one thing that is looked for by its name.
SMALL = {
    "tapegrad.engine.codegen.segments.segment_kernels",
    "tapegrad.engine.inspection.dependence",
    "tapegrad.frontend.conversions.notebooks",
    "tapegrad.interop.scipy_callable",
    "tapegrad.ops.codes",
    "tapegrad.transforms.stop_gradient",
}


def _statements(node: ast.AST, everywhere: bool) -> Iterator[ast.stmt]:
    """Yield import statements, those for type checkers too; those inside functions if `everywhere`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif everywhere or not isinstance(child, ast.FunctionDef):
            yield from _statements(child, everywhere)


def _names(module: str, node: ast.stmt) -> list[str]:
    """Return the full names of what a statement imports."""
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
    """Return the room of a module: the second component of its name."""
    return [*module.split("."), ""][1]


def engine_part(module: str) -> str:
    """Return the part of the engine that a module of it belongs to."""
    return [*module.split("."), ""][2]


def listed(package: str) -> list[str]:
    """Return what the docstring of a package lists, in its order."""
    text = ast.get_docstring(ast.parse(FILES[package].read_text())) or ""
    lists = re.findall(r"^    ([a-z_]+(?:, [a-z_]+)*)  +\S", text, re.MULTILINE)
    return [name for names in lists for name in names.split(", ")]


def held(package: str) -> set[str]:
    """Return the names of the files and folders of a package."""
    return {
        path.stem for path in FILES[package].parent.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    } - {"__init__", "__main__"}  # fmt: skip


def test_rooms_import_rooms_below_them() -> None:
    """Imports under `TYPE_CHECKING`, and those inside functions, count like any other."""
    upwards = {
        module: sorted(
            other for other in own(module) if room(other) not in ORDER[: ORDER.index(room(module)) + 1]
        )
        for module in FILES
    }
    assert not {module: others for module, others in upwards.items() if others}


def test_files_and_folders_import_those_listed_above_them() -> None:
    """Inside of each folder, too, imports point one way: the one in which its docstring is read."""
    upwards = []
    for package in PACKAGES:
        place = {name: n for n, name in enumerate(listed(package))}
        depth = package.count(".") + 1
        for module in FILES:
            if not module.startswith(package + "."):
                continue
            name = module.split(".")[depth]
            for other in own(module):
                if other.startswith(package + "."):
                    above = other.split(".")[depth]
                    if name in place and place.get(above, -1) > place[name]:
                        upwards.append(f"{module} imports {other}, which {package} lists below it")
    assert not upwards, "\n".join(upwards)


def test_every_folder_is_taken_in_at_a_glance() -> None:
    boxes = {package: len(held(package)) for package in PACKAGES}
    assert not {package: n for package, n in boxes.items() if n > MAX_BOXES}


def test_files_are_neither_long_nor_crumbs() -> None:
    users = defaultdict(set)
    for module in FILES:
        for other in own(module):
            users[other].add(module)
    written = {m: path for m, path in FILES.items() if path.suffix == ".py"}
    lines = {m: lines_of(path) for m, path in written.items()}
    lengths = {m: len(found.code) + len(found.imports) for m, found in lines.items()}
    assert not {m: n for m, n in lengths.items() if n > MAX_LINES}
    crumbs = {
        m: sorted(users[m])
        for m, path in written.items()
        if len(path.read_text().splitlines()) < MIN_LINES and len(users[m]) == 1
    }
    assert not {m: by for m, by in crumbs.items() if m not in {*PACKAGES, *SMALL}}


def test_the_root_holds_rooms_and_little_else() -> None:
    """A new file is given a room; the listing of the root is the architecture."""
    there = {path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"}
    files = {
        "__init__.py",
        "__init__.pyi",
        "__main__.py",
        "errors.py",
        "fft.py",
        "linalg.py",
        "polynomial.py",
        "special.py",
        "special.pyi",
        "foreign.py",
        "pytree.py",
        "py.typed",
    }
    assert ROOMS <= there <= ROOMS | files
    assert {room(module) for module in FILES} == set(ORDER)


def test_tests_are_where_the_rooms_are() -> None:
    """Tests of a room are in the folder of its name, those of `docs/gallery` too; of the whole package above them.

    Those of the public benchmarks of `perf`, whose results are published, are in `published`.
    A folder is a module while tests run, and others look for a package of the name `sparse`.
    """
    folders = {path.parent.name for path in Path(__file__).parent.glob("*/test_*.py")}
    assert folders == ROOMS - {"sparse"} | {"sparse_matrices", "gallery", "published"}


def test_every_folder_lists_its_files() -> None:
    """Its docstring names each with a few words, in reading order: it is the newcomer's map."""
    wrong = []
    for package in PACKAGES:
        names = listed(package)
        if len(names) != len(set(names)):
            wrong.append(f"the docstring of {package} lists a file twice")
        if missing := sorted(held(package) - set(names)):
            wrong.append(f"the docstring of {package} does not say what is in {', '.join(missing)}")
        if gone := sorted(set(names) - held(package)):
            wrong.append(f"the docstring of {package} lists {', '.join(gone)}, which is not there")
    assert not wrong, "\n".join(wrong)


ENGINE_MODULES = [m for m in FILES if room(m) == "engine"]
COMPILED_CODE = [m for m in ENGINE_MODULES if engine_part(m) in ("kernels", "tape", "sweep")]


def test_compiled_code_imports_little_of_the_engine() -> None:
    wrong = {
        module: sorted(
            other
            for other in own(module)
            if room(other) == "engine"
            and engine_part(other) not in {*STRICT[engine_part(module)], engine_part(module)}
        )
        for module in ENGINE_MODULES
        if engine_part(module) in STRICT
    }
    assert not {module: others for module, others in wrong.items() if others}


PARAMETERS = {m for m in FILES if m.startswith(("tapegrad.ops.params", "tapegrad.ops.structural."))}


def test_compiled_code_knows_no_table() -> None:
    """Of the table it knows what the parameters of an op are called, which the digest of the cache covers."""
    wrong = {m: {o for o in own(m) if room(o) != "engine"} - PARAMETERS for m in COMPILED_CODE}
    assert not {module: others for module, others in wrong.items() if others}


def test_parameters_of_ops_import_nothing() -> None:
    assert not own("tapegrad.ops.params")


def test_kernels_import_numerical_libraries_only() -> None:
    allowed = NUMERICAL | {"typing", "collections", "operator", "importlib", "os", "sys", "types"}
    others = {
        m: {name.partition(".")[0] for name in imports(m) - own(m)} - allowed
        for m in COMPILED_CODE
        if engine_part(m) == "kernels"
    }
    assert not {module: names for module, names in others.items() if names}


NUMBAS_OWN = "tapegrad.engine.kernels.language.numba_internals"


def test_private_names_of_numba_stand_in_one_file() -> None:
    found = {m: {name for name in imports(m) if re.match(r"numba\.(core|np)\b", name)} for m in FILES}
    assert not {module: names for module, names in found.items() if names and module != NUMBAS_OWN}


def test_the_translator_leans_on_ten_private_names_at_most() -> None:
    """The docstring lists them first; the file imports no other name than the docstring explains."""
    tree = ast.parse(FILES[NUMBAS_OWN].read_text())
    text = ast.get_docstring(tree) or ""
    listed = re.findall(r"^    (\w+(?:, \w+)*)(?:  | ?$)", text, re.MULTILINE)
    groups = [names.split(", ") for names in listed]
    of_translator = text.partition("Numba's compiler with passes")[0]
    assert 0 < len(re.findall(r"^    \w+  ", of_translator, re.MULTILINE)) <= 10
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom) and "numba" in ast.unparse(node)
        for alias in node.names
    }
    assert {name for group in groups for name in group} == imported


def test_tape_and_sweep_are_compiled_code() -> None:
    others = {
        m: {name.partition(".")[0] for name in imports(m) - own(m)} - NUMERICAL - sys.stdlib_module_names
        for m in COMPILED_CODE
    }
    assert not {module: names for module, names in others.items() if names}


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

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path[path.index(module) :], module))
        if module not in done:
            for name in own(module, everywhere=False) & FILES.keys():
                visit(name, (*path, module))
            done.add(module)

    for module in FILES:
        visit(module, ())

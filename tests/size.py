"""How large the code is, a line a room: ``make size``.

Lines of code are lines with more than a docstring, a comment or an import: so are those of a function counted, its
parameters without ``self``.
"""

import ast
import io
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
HEADS = ("files", "lines", "code", "functions", "median", "95 %", "longest", "widest")
ROW = "{:<10} {:>5} {:>7} {:>7} {:>9} {:>6} {:>5}  {:<52}  {}"
LAYOUT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


class Lines(NamedTuple):
    """The lines of a file by what is in them, as sets of their numbers; those in none of the sets are empty."""

    code: set[int]
    imports: set[int]
    docstrings: set[int]
    comments: set[int]


class Function(NamedTuple):
    """How long, in lines of code, and how wide a function is."""

    name: str
    lines: int
    parameters: int


@cache
def lines_of(path: Path) -> Lines:
    """Tell the lines of a file apart."""
    text = path.read_text(encoding="utf-8")
    imports, docstrings = set[int](), set[int]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports |= _lines_between(node)
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstrings |= _lines_between(node.body[0]) if _has_docstring(node) else set()
    code, comments = set[int](), set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            found = comments if token.type == tokenize.COMMENT else code
            found.update(range(token.start[0], token.end[0] + 1))
    code -= imports | docstrings
    return Lines(code, imports - docstrings, docstrings, comments - code - imports - docstrings)


def _lines_between(node: ast.stmt) -> set[int]:
    return set(range(node.lineno, node.end_lineno + 1))


def _has_docstring(node: ast.AST) -> bool:
    return ast.get_docstring(node, clean=False) is not None


def code_lines(files: list[Path]) -> int:
    """How many lines of code some files have."""
    return sum(len(lines_of(path).code) for path in files)


def package_files() -> list[Path]:
    """The files of the package, on whose lines of code there is a ceiling (tests/test_project.py)."""
    return sorted((ROOT / "tapegrad").rglob("*.py"))


def functions(path: Path) -> Iterator[Function]:
    """The functions of a file, those inside others among them."""
    code = lines_of(path).code
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = node.args
            named = {x.arg for x in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
            lines = len(code & _lines_between(node))
            yield Function(f"{path.name}:{node.name}", lines, len(named - {"self", "cls"}))


def room(path: Path) -> str:
    """The folder of the package that a file is in, or the folder beside the package."""
    top, *inner = path.relative_to(ROOT).parent.parts
    if top != "tapegrad":
        return f"{top}/"
    return inner[0] if inner else "(root)"


def row(name: str, files: list[Path]) -> str:
    """The line that is printed of a room."""
    found = [function for path in files for function in functions(path)]
    lines = [function.lines for function in found]
    longest = max(found, key=lambda function: function.lines)
    widest = max(found, key=lambda function: function.parameters)
    return ROW.format(
        name,
        len(files),
        sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files),
        code_lines(files),
        len(found),
        f"{median(lines):.0f}",
        f"{quantiles(lines, n=20)[-1]:.0f}",
        f"{longest.lines} {longest.name}",
        f"{widest.parameters} {widest.name}",
    )


def main() -> None:
    """Print a line a room, and one for the package."""
    rooms = defaultdict(list)
    for path in sorted(path for top in ("tapegrad", "tests", "perf") for path in (ROOT / top).rglob("*.py")):
        rooms[room(path)].append(path)
    print(ROW.format("", *HEADS))
    for name, files in sorted(rooms.items()):
        print(row(name, files))
    print(row("tapegrad/", package_files()))


if __name__ == "__main__":
    main()

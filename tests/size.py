"""How large the code is, a line a room: ``make size``.

Lines of a function are counted without its docstring, its parameters without ``self``. Generated files are a room of
their own.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
HEADS = ("files", "lines", "functions", "median", "95 %", "longest", "widest")
ROW = "{:<10} {:>5} {:>7} {:>9} {:>6} {:>5}  {:<52}  {}"


class Function(NamedTuple):
    """How long and how wide a function is."""

    name: str
    lines: int
    parameters: int


def functions(path: Path) -> Iterator[Function]:
    """The functions of a file, those inside others among them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first, given = node.body[0], node.args
            docstring = 0 if ast.get_docstring(node) is None else first.end_lineno - first.lineno + 1
            lines = node.end_lineno - node.lineno + 1 - docstring
            named = {argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
            yield Function(f"{path.name}:{node.name}", lines, len(named - {"self", "cls"}))


def room(path: Path) -> str:
    """The folder of the package that a file is in, or the folder beside the package."""
    top, *inner = path.relative_to(ROOT).parent.parts
    if top != "tapegrad":
        return f"{top}/"
    return "generated" if "generated" in inner else inner[0] if inner else "(root)"


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
        len(found),
        f"{median(lines):.0f}",
        f"{quantiles(lines, n=20)[-1]:.0f}",
        f"{longest.lines} {longest.name}",
        f"{widest.parameters} {widest.name}",
    )


def main() -> None:
    """Print a line a room, and one for all that is written by hand in the package."""
    rooms = defaultdict(list)
    for path in sorted(path for top in ("tapegrad", "tests", "perf") for path in (ROOT / top).rglob("*.py")):
        rooms[room(path)].append(path)
    print(ROW.format("", *HEADS))
    for name, files in sorted(rooms.items()):
        print(row(name, files))
    by_hand = [path for name in rooms if name != "generated" and "/" not in name for path in rooms[name]]
    print(row("by hand", by_hand))


if __name__ == "__main__":
    main()

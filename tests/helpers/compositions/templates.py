"""Statements by feature, as templates, a line each in templates.txt; `;;` separates the lines of one.

A field names an operand by the first letter of its name: `a` any array, `x` and `y` real ones that broadcast, `v` a
vector, `t` a table of two or more axes, `s` a number, `m` a square matrix, `z` a complex array, `q` a complex square
matrix, `w` an array that the program may write to, `K` an array that the function closes over. `key.x`, `part.x`,
`rows.x`, `axis.x` fit the operand `x`; `at.x` is the value of one of its elements at the first point, so that a
difference from it is zero; `c` is a number, `k` a small integer, `new` a new name. A template without an assignment is
an expression, which gets a name. What stands under `operand v` makes a vector where there is none.
"""

from pathlib import Path


def _read() -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {}
    for line in Path(__file__).with_suffix(".txt").read_text().splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), [])
        elif line:
            section.append(line.replace(" ;; ", "\n"))
    return sections


_SECTIONS = _read()
FEATURES = {name: rows for name, rows in _SECTIONS.items() if not name.startswith("operand ")}
OPERANDS = {name.split()[1]: rows for name, rows in _SECTIONS.items() if name.startswith("operand ")}

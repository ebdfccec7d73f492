"""The examples of the elementwise functions' docstrings: their numbers, computed from the row by NumPy."""

from pathlib import Path
from typing import Any

import numpy as np

from tapegrad.cli.generate.files import write
from tapegrad.engine.reference import evaluate_numpy
from tapegrad.ops import ELEMENTWISE, Op, documentation
from tapegrad.ops.documentation import arguments_of, doc_of

_HEADER = (
    "# Examples of the elementwise functions, from tapegrad/ops/elementwise.py by `make gen`; do not edit.\n"
)
EXAMPLES = documentation.EXAMPLES


def files() -> dict[Path, str]:
    """Return every generated file and its text."""
    return {EXAMPLES: examples_text()}


def main(arguments: list[str]) -> int:
    """Write the files, or with ``--check`` say which differ; the exit status."""
    return write(files(), "the op table", arguments)


OWN_FUNCTION = frozenset({"where", "clip"})  # their public functions have other arguments than the rows


def example(row: Op) -> str:
    """Return the lines of a row's example, without the import."""
    operands = doc_of(row).example or tuple(_points(*domain, j) for j, domain in enumerate(row.domains))
    names = arguments_of(row)
    values = {f"x{j}": np.array(operand) for j, operand in enumerate(operands)}
    lines = [
        f">>> {name} = {_list(operand) if j in row.unknown else f'tg.tensor({_list(operand)})'}"
        for j, (name, operand) in enumerate(zip(names, operands, strict=True))
    ]
    call = f"{str(row.home).replace('tapegrad', 'tg')}.{row.name}({', '.join(names)})"
    result = np.asarray(evaluate_numpy(row.primal, **values))
    if row.predicate:
        return "\n".join([*lines, f">>> {call}", repr(result)])
    y = "z" if "y" in names else "y"
    shown = repr(result).removeprefix("array")
    if not row.takes_real:
        shown = f"{shown.removesuffix(')')}, dtype=complex128)"
    lines += [f">>> {y} = {call}", f">>> {y}", f"Tensor{shown}"]
    lines.append(f">>> {y}.backward()" if row.takes_real else f">>> {y}.real.backward()")
    for j in row.differentiable_operands:
        gradient = evaluate_numpy(row.partials[j], y=result, **values).real * np.ones(len(operands[0]))
        lines += [f">>> {names[j]}.grad", repr(gradient)]
    return "\n".join(lines)


def _points(low: float, high: float, j: int) -> tuple[float, ...]:
    """Two points of the domain of operand `j`, others than those of another operand."""
    return tuple(round(low + (high - low) * (k + j) / 8, 1) for k in (2, 6))


def _list(values: tuple[Any, ...]) -> str:
    """Write a list of numbers for a program that imports tapegrad alone."""
    return repr(list(values)).replace("nan", "tg.nan").replace("inf", "tg.inf")


def examples_text() -> str:
    """Write the table of the examples: a row of each, its name and its lines, separated by tabs."""
    rows = [row for row in ELEMENTWISE if row.public and row.name not in OWN_FUNCTION]
    lines = [[row.name, *example(row).splitlines()] for row in rows]
    return _HEADER + "".join("\t".join(line) + "\n" for line in lines)

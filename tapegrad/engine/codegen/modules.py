"""The generated files: which there are, their heads, and whether they are what the op table says."""

import itertools
import re
from pathlib import Path

from tapegrad.engine.codegen.examples import examples_text
from tapegrad.engine.codegen.expressions import INLINE
from tapegrad.engine.codegen.files import write
from tapegrad.engine.codegen.forward_reverse import forward, function_text, reverse
from tapegrad.engine.codegen.kernel import SIZES
from tapegrad.engine.codegen.tangent import tangent
from tapegrad.engine.kernels import generated
from tapegrad.engine.kernels.library import SIGNATURES
from tapegrad.ops import ELEMENTWISE, Op, examples

_HEADER = "Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit."
FOLDER = Path(generated.__file__).parent
EXAMPLES = Path(examples.__file__)
_MODULES = {
    "tapegrad.engine.kernels.arithmetic": (*sorted(INLINE), "masked_divide"),
    "tapegrad.engine.kernels.blocks": (
        "BLOCK", "Block", "bar_#", "call_library", "operand_#", "operand_u8", "target_#", "target_u8",
        "whole_#",
    ),
    "tapegrad.engine.kernels.cotangents": (
        "close_#", "contributions_#", "end_#", "finish_#", "finish_u8", "load_masked_#", "open_#",
    ),
    "tapegrad.engine.kernels.frame": ("COUNT", "STRIDE", "X", "X_BAR", "Y", "Y_BAR", "Y_STRIDE"),
    "tapegrad.engine.kernels.library": ("entry",),
    "tapegrad.engine.kernels.raw_memory": ("load_#", "load_i64", "load_u8", "stack_words", "store_#"),
    "tapegrad.engine.kernels.tangents": (
        "ABSENT", "apply_constants", "apply_partials", "tangent_block", "tangent_count", "tangent_finish",
        "tangent_target", "write_zeros",
    ),
}  # fmt: skip


_MAKERS = {"forward": forward, "reverse": reverse, "tangent": tangent}


def module_text(module: str, dtype: str, rows: list[Op], directions: list[str]) -> str:
    """The generated file of some rows, one element type and some directions."""
    functions, library = [], {}
    for op in rows:
        for direction in directions:
            if direction == "forward" or not op.predicate:
                kernel = _MAKERS[direction](op, dtype)
                functions.append(function_text(kernel, direction))
                library[f"{op.name}_{direction}_{dtype}"] = tuple(sorted(kernel.library))
    subject = module.rpartition(".")[2].removesuffix(f"_{dtype}").replace("_", ", ")
    return _assemble(f"Elementwise kernels in {dtype}: {subject}.", dtype, functions, library)


def _assemble(title: str, dtype: str, functions: list[str], library: dict[str, tuple[str, ...]]) -> str:
    entries = sorted(set().union(*library.values()))
    body = "\n\n\n".join(functions)
    letter = {"f64": "d", "f32": "f"}[dtype]
    used = set(re.findall(r"\w+", body))
    constants = [f'{n.upper()} = entry("{n}", "{letter}")' for n in entries if n.upper() in used]
    constants += [""] if constants else []
    flags = 'FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}'
    table = ["LIBRARY: dict[str, tuple[str, ...]] = {", *(_library_row(*row) for row in library.items()), "}"]
    head = [f'"""{title}\n\n{_HEADER}\n"""', "", *_imports(body, dtype), "", *constants, flags, *table]
    return "\n".join(head) + "\n\n\n" + body + "\n"


def _library_row(function: str, names: tuple[str, ...]) -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return f'    "{function}": ({quoted}{"," if len(names) == 1 else ""}),'


def _imports(body: str, dtype: str) -> list[str]:
    """Import statements for the names that `body` uses."""
    code = re.sub(r'""".*?"""', "", body, flags=re.DOTALL)
    used = set(re.findall(r"[A-Za-z_]\w*", code))
    used |= {"entry"} if used & {name.upper() for name in SIGNATURES} else set()
    numbers = [name for name in ("inf", "nan") if name in used]
    lines = [f"from math import {', '.join(numbers)}", ""] if numbers else []
    lines += ["from numba import float32", ""] if "float32" in used else []
    for module, names in _MODULES.items():
        found = [name.replace("#", dtype) for name in names if name.replace("#", dtype) in used]
        found.sort(key=lambda name: (name.islower(), len(name) == 1, name))
        line = f"from {module} import {', '.join(found)}"
        if len(line) > 110:
            line = f"from {module} import (\n" + "".join(f"    {name},\n" for name in found) + ")"
        lines += [line] if found else []
    return lines


def files() -> dict[Path, str]:
    """Every generated file and its text."""
    contents: dict[tuple[str, str], dict[Op, list[str]]] = {}
    for op, dtype, direction in itertools.product(ELEMENTWISE, SIZES, _MAKERS):
        if direction != "tangent" or not op.predicate:
            rows = contents.setdefault((op.module(dtype, direction), dtype), {})
            rows.setdefault(op, []).append(direction)
    kernels = {
        FOLDER / f"{module.rpartition('.')[2]}.py": module_text(
            module, dtype, list(rows), next(iter(rows.values()))
        )
        for (module, dtype), rows in contents.items()
    }
    return {**kernels, EXAMPLES: examples_text(_HEADER)}


def main(arguments: list[str]) -> int:
    """Write the files, or with ``--check`` say which differ; the exit status."""
    return write(files(), "the op table", arguments)

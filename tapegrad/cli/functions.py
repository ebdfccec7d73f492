"""``tapegrad functions``: what NumPy's and SciPy's functions do with a Tensor."""

import argparse
import sys

from tapegrad.frontend.numpy_face.coverage import (
    MODULES,
    REFUSED,
    kind_of,
    note_on,
    public_functions,
)


def run(options: argparse.Namespace) -> int:
    """Print the kinds of the functions that are asked for, or of all."""
    found = {
        f"{module}.{name}": (name, function)
        for module in MODULES
        for name, function in public_functions(module).items()
        if not options.names or _is_asked(f"{module}.{name}", options.names)
    }
    for full, (name, function) in found.items():
        kind = kind_of(name, function)
        note = note_on(full) if kind == REFUSED else ""
        print(f"{full:<40}  {kind}{f' ({note})' if note else ''}")
    if not found:
        print(f"tapegrad functions: no public function is called {', '.join(options.names)}", file=sys.stderr)
    return 0 if found else 2


def _is_asked(full: str, asked: list[str]) -> bool:
    return full in asked or full.rpartition(".")[2] in asked or full.rpartition(".")[0] in asked

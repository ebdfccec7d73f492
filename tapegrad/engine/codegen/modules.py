"""The generated file: where it is, and whether it is what the op table says."""

from pathlib import Path

from tapegrad.engine.codegen.examples import examples_text
from tapegrad.engine.codegen.files import write
from tapegrad.ops import examples

_HEADER = "Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit."
EXAMPLES = Path(examples.__file__)


def files() -> dict[Path, str]:
    """Every generated file and its text."""
    return {EXAMPLES: examples_text(_HEADER)}


def main(arguments: list[str]) -> int:
    """Write the files, or with ``--check`` say which differ; the exit status."""
    return write(files(), "the op table", arguments)

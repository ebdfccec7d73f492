"""The command ``tapegrad``.

Every command lives in a module of its own that is imported when the command runs, so that ``--help`` does
not wait for a compiler to load.
"""

import argparse
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

_DESCRIPTION = "NumPy-like reverse-mode automatic differentiation on a flat Wengert tape."


def _add_fit(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """``tapegrad fit``."""
    fit = commands.add_parser(
        "fit",
        help="fit the nonlinear regressions of NIST StRD",
        description="Fit the nonlinear regressions of the NIST Statistical Reference Datasets with exact "
        "Jacobians from replayed tapes, and compare with the certified parameters. "
        "Exit code 1 if a fit disagrees.",
    )
    fit.add_argument(
        "names", nargs="*", metavar="NAME", help="a problem, such as Misra1a (default: all of them)"
    )
    fit.add_argument(
        "--start", choices=("1", "2", "both"), default="both", help="starting point (default: both)"
    )
    fit.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw data, fit and residuals (.png, .pdf, .svg)"
    )
    fit.add_argument("--json", action="store_true", help="print the results as JSON")


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    top = argparse.ArgumentParser(prog="tapegrad", description=_DESCRIPTION)
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_fit(commands)
    for name, text in (
        ("info", "print versions, threads, and the state of the kernel cache"),
        ("warmup", "compile the kernels that are not cached yet"),
    ):
        commands.add_parser(name, help=text, description=text)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: that of the process); its exit code."""
    options = parser().parse_args(argv)
    return int(import_module(f"tapegrad.cli.{options.command}").run(options))

"""The command ``tapegrad``.

Every command is a module of its own that is imported when the command runs, so that ``--help`` does not wait for
a compiler to load:

In reading order; each imports only those above it:

    errors                         what ends a command
    generate                       generated files: stubs, pages, examples
    functions                      ``tapegrad functions``: what NumPy's functions do with a Tensor; writes the list
    info                           ``tapegrad info``
    cache                          ``tapegrad cache``: contents of the cache folder, and their removal
    pictures                       the files of plots
    example                        ``tapegrad example``: models fitted to data drawn from them
    plot                           plots of fits
    segments                       ``tapegrad segments``: what fused loops compute
    profile                        ``tapegrad profile``: what takes how long in a replay
    bench                          ``tapegrad bench``: how long a function and its derivatives take
    table                          fits as a table, and as JSON
    fit                            ``tapegrad fit``
    warmup                         ``tapegrad warmup``

It may import every room.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from tapegrad import __version__
from tapegrad.cli.errors import CommandError

EXAMPLES = ("gaussian_process", "survival", "robust_line", "reaction", "logistic", "spots", "cluster")
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
    _add_plot(fit, "draw data, fit and residuals")
    fit.add_argument("--json", action="store_true", help="print the results as JSON")


def _add_plot(command: argparse.ArgumentParser, what: str) -> None:
    """``--plot``."""
    text = f"{what} (.png, .pdf, .svg; .png without an extension)"
    command.add_argument("--plot", type=Path, metavar="FILE", help=text)


def _add_segments(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """``tapegrad segments``."""
    segments = commands.add_parser(
        "segments",
        help="show which instructions of a function are compiled to one loop",
        description="Record a function, compile its segments, and print the tape with what each segment computes, or"
        " LLVM's instructions for one of them.",
    )
    _add_replayed(segments)
    segments.add_argument("--ir", type=int, metavar="NUMBER", help="print LLVM's instructions for a segment")


def _add_profile(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """``tapegrad profile``."""
    profile = commands.add_parser(
        "profile",
        help="measure the instructions and segments of a function",
        description="Record a function and print the time of each instruction and segment of a replay, by row, by"
        " source line and by op.",
    )
    _add_replayed(profile)
    profile.add_argument("--plot", type=Path, metavar="FILE", help="draw bars (.svg)")


def _add_bench(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """``tapegrad bench``."""
    bench = commands.add_parser(
        "bench",
        help="measure a function and its derivatives, beside other libraries",
        description="Measure a scalar function of one array, its gradient, and the product of its Hessian with a"
        " vector: eager, replayed, and by other libraries, which take turns. Exit code 1 if an answer is wrong.",
    )
    bench.add_argument("function", metavar="MODULE:FUNCTION", help="or FILE.py:FUNCTION")
    array = "np.linspace(0.5, 1.5, 10)"
    bench.add_argument("argument", nargs="?", default=array, metavar="ARRAY", help=f"default: '{array}'")
    bench.add_argument(
        "--beside", metavar="NAMES", help="of autograd, casadi, jax, numpy, torch, such as jax,torch"
    )
    bench.add_argument("--of", default="value,gradient,hvp", metavar="NAMES", help="default: %(default)s")
    bench.add_argument("--seconds", type=float, default=1.0, help="of each time (default: %(default)s)")
    bench.add_argument("--json", type=Path, metavar="FILE", help="write all rounds, as pyperf reads them")
    bench.add_argument("--plot", type=Path, metavar="FILE", help="draw bars (.svg)")


def _add_replayed(command: argparse.ArgumentParser) -> None:
    """Add the function that is replayed, and its arguments."""
    command.add_argument("function", metavar="MODULE:FUNCTION", help="or FILE.py:FUNCTION")
    command.add_argument(
        "arguments", nargs="*", metavar="ARGUMENT", help="expressions such as 0.5 or 'np.ones((2, 3))'"
    )
    ways = "forward", "gradient", "jacobian", "hessian"
    command.add_argument("--of", choices=ways, default="gradient", help="default: gradient")


def _add_cache(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """``tapegrad cache``."""
    text = "print where compiled code is kept, of which versions, and how much"
    cache = commands.add_parser(
        "cache",
        help=f"{text}; remove it",
        description=f"{text[0].upper()}{text[1:]}. TAPEGRAD_CACHE_SIZE is the limit of its size.",
    )
    actions = cache.add_subparsers(dest="action", metavar="ACTION")
    clear = actions.add_parser(
        "clear", help="remove compiled code", description="Remove the compiled code of all versions."
    )
    clear.add_argument("--old", action="store_true", help="keep that of this version")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(prog="tapegrad", description=_DESCRIPTION)
    top.add_argument("--version", action="version", version=f"tapegrad {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_fit(commands)
    example = commands.add_parser(
        "example",
        help="fit a model to data drawn from it",
        description="Fit a model to data that are drawn from it, and compare the estimates with the true parameters.",
    )
    example.add_argument("name", choices=EXAMPLES, help=", ".join(EXAMPLES), metavar="NAME")
    example.add_argument("--count", type=int, metavar="N", help="of spots: how many images (default: 10000)")
    _add_plot(example, "draw the data and what was fitted")
    functions = commands.add_parser(
        "functions",
        help="say what NumPy's and SciPy's functions do with a Tensor",
        description="Say of public functions of NumPy and scipy.special whether they differentiate, are constant, or"
        " are refused when they are given a Tensor.",
    )
    functions.add_argument("names", nargs="*", metavar="NAME", help="a function, or a module (default: all)")
    _add_segments(commands)
    _add_cache(commands)
    _add_profile(commands)
    _add_bench(commands)
    for name, text in (
        ("info", "print versions, threads, and the state of the kernel cache"),
        ("warmup", "compile the kernels that are not cached yet"),
    ):
        commands.add_parser(name, help=text, description=text)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: that of the process) and return the exit code.

    As shells have it, the code is 130 after Ctrl-C and 141 if the reader of a pipe closed it early. It is 2 if the
    output cannot be written, or if the command cannot do what it was asked.
    """
    options = parser().parse_args(argv)
    try:
        code = int(import_module(f"tapegrad.cli.{options.command}").run(options))
        if sys.stdout is not None:
            sys.stdout.flush()  # here, and not at exit, where an error cannot be caught
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _discard_output()
        return 141
    except OSError as error:
        _discard_output()
        return _failed(options.command, error)
    except CommandError as error:
        return _failed(options.command, error)


def _failed(command: str, error: Exception) -> int:
    print(f"tapegrad {command}: {error}", file=sys.stderr)
    return 2


def _discard_output() -> None:
    """Redirect stdout to the null device: the interpreter flushes it at exit, which would fail again."""
    with suppress(OSError, AttributeError):  # stdout without a file descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

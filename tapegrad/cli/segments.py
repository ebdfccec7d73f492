"""``tapegrad segments``: which instructions of a recorded function replays run as one loop."""

import argparse
import importlib.util
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import tapegrad as tg
from tapegrad.cli.errors import CommandError

WAYS: dict[str, Callable[[Any], Any]] = {
    "forward": lambda f: f,
    "gradient": tg.value_and_grad,
    "jacobian": tg.jacobian,
    "hessian": tg.hessian,
}


def run(options: argparse.Namespace) -> int:
    """Record a function, compile its segments, and print them."""
    recorded, _, args = replayed(options)
    tape = recorded.tape(*args)
    segments = tape.segments
    if options.ir is None:
        print(tape.text, *segments, sep="\n\n")
        return 0
    if not 0 <= options.ir < len(segments):
        raise CommandError(f"there is no segment {options.ir}: there are {len(segments)}")
    print(segments[options.ir].ir)
    return 0


def replayed(options: argparse.Namespace) -> tuple[Any, Any, list[Any]]:
    """Replay the function of the command line with its arguments; its recorded form, what is replayed, and these."""
    function = function_of(options.function)
    args = [argument_of(text) for text in options.arguments]
    recorded = tg.jit(getattr(function, "__wrapped__", function), fuse=True)
    derived = WAYS[options.of](recorded)
    try:
        derived(*args)
        recorded.tape(*args)
    except Exception as error:
        raise CommandError(
            f"{options.function} cannot be recorded: {type(error).__name__}: {error}"
        ) from error
    return recorded, derived, args


def function_of(name: str) -> Any:
    """Import the function that is called ``module:function`` or ``file.py:function``."""
    source, colon, attribute = name.rpartition(":")
    if not colon:
        raise CommandError(f"{name!r} is not of the form MODULE:FUNCTION or FILE.py:FUNCTION")
    try:
        found = getattr(_module(source), attribute)
    except (ImportError, AttributeError, OSError, SyntaxError) as error:
        raise CommandError(f"{name}: {error}") from error
    if not callable(found):
        raise CommandError(f"{name} is not a function")
    return found


def _module(source: str) -> ModuleType:
    if not source.endswith(".py"):
        sys.path.insert(0, "")  # as Python itself does for -m
        return import_module(source)
    spec = importlib.util.spec_from_file_location(Path(source).stem, source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def argument_of(text: str) -> Any:
    """Evaluate an argument of the function, an expression of Python in which ``np`` is NumPy."""
    try:
        return eval(text, {"np": np})
    except Exception as error:
        raise CommandError(f"the argument {text!r}: {error}") from error

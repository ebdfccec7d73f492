"""``tapegrad example``: models that are fitted to data drawn from them."""

import argparse
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tapegrad.cli import pictures
from tapegrad.cli.errors import CommandError
from tapegrad.examples.likelihood import Estimate


def run(options: argparse.Namespace) -> int:
    """Fit the example, print what was found, and draw."""
    file = pictures.checked(options.plot)
    example = import_module(f"tapegrad.examples.{options.name}")
    data = _observed(example, options)
    try:
        found = example.fit(*data)
    except ModuleNotFoundError as error:
        raise CommandError(str(error)) from error
    lines = example.report(found, *data) if hasattr(example, "report") else table(example.TRUTH, found)
    print("\n".join(lines), flush=True)
    if file is not None:
        _draw(example, found, data, file)
    return 0


def _observed(example: Any, options: argparse.Namespace) -> tuple[Any, ...]:
    """Draw the example's data, as many as are asked for."""
    if options.count is None:
        data: tuple[Any, ...] = example.observe()
        return data
    if not hasattr(example, "COUNT"):
        raise CommandError(f"{options.name} has one set of data; --count is for spots")
    if options.count < 1:
        raise CommandError(f"--count {options.count}: it must be positive")
    many: tuple[Any, ...] = example.observe(options.count)
    return many


def table(truth: dict[str, float], estimate: Estimate) -> Iterator[str]:
    """Yield a title, and a line for each parameter."""
    width = max(map(len, truth))
    yield f"{'parameter':<{width}}  {'true':>8}  {'estimate':>8}  {'error':>8}"
    rows = zip(truth.items(), estimate.parameters, estimate.errors, strict=True)
    for (name, true), found, error in rows:
        yield f"{name:<{width}}  {true:8.3f}  {found:8.3f}  {error:8.3f}"


def _draw(example: Any, found: Any, data: Sequence[Any], file: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    example.draw(figure.subplots(), found, *data)
    pictures.save(figure, file)

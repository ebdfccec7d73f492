"""``tapegrad example``: models that are fitted by maximum likelihood."""

import argparse
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tapegrad.cli import pictures
from tapegrad.examples.likelihood import Estimate


def run(options: argparse.Namespace) -> int:
    """Fit the example, print its parameters, and draw."""
    file = pictures.checked(options.plot)
    example = import_module(f"tapegrad.examples.{options.name}")
    data = example.observe()
    estimate = example.fit(*data)
    print("\n".join(table(example.TRUTH, estimate)), flush=True)
    if file is not None:
        _draw(example, estimate, data, file)
    return 0


def table(truth: dict[str, float], estimate: Estimate) -> Iterator[str]:
    """Yield a title, and a line for each parameter."""
    width = max(map(len, truth))
    yield f"{'parameter':<{width}}  {'true':>8}  {'estimate':>8}  {'error':>8}"
    rows = zip(truth.items(), estimate.parameters, estimate.errors, strict=True)
    for (name, true), found, error in rows:
        yield f"{name:<{width}}  {true:8.3f}  {found:8.3f}  {error:8.3f}"


def _draw(example: Any, estimate: Estimate, data: Sequence[Any], file: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    example.draw(figure.subplots(), estimate, *data)
    pictures.save(figure, file)

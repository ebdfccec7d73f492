"""Sphinx extension: writes the pages of the reference before Sphinx looks for pages.

All of ``docs/reference/generated`` is made by it, autosummary and their templates; nothing there is kept in Git.
"""

import argparse
import importlib
import inspect
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from public_names import Subject, distribution_methods, members, numpys_names, reference
from sphinx.application import Sphinx
from sphinx.config import Config

from tapegrad import cli
from tapegrad.stats.distribution import Distribution

# The tables of the reference's first page: pages by group.
GROUPS = {
    "derivatives": ("transforms", "loops", "tensors", "checks", "errors"),
    "numpy": (
        "elements", "reductions", "creation", "shapes", "ordering", "products", "numerics", "predicates"
    ),
    "modules": (
        "linalg", "sparse", "special", "stats", "optimize", "interop", "integrate", "interpolate", "fft", "signal",
        "ndimage",
    ),
}  # fmt: skip


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("config-inited", _write_pages)
    # It sets the path of MathJax and does nothing else, but does not say that pages may be read in parallel.
    app.extensions["sphinx-mathjax-offline"].parallel_read_safe = True
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write_pages(app: Sphinx, config: Config) -> None:
    """Write all pages anew, and give autosummary's templates what they need."""
    folder = Path(app.srcdir) / "reference" / "generated"
    shutil.rmtree(folder, ignore_errors=True)  # a name that is gone has no page
    folder.mkdir(parents=True)
    subjects = reference()
    pages = {slug: "\n".join(_subject_page(subject)) for slug, subject in subjects.items()}
    pages |= {"command_line": "\n".join(_command_line()), "numpy_names": "\n".join(_numpy_names())}
    for slug, text in pages.items():
        (folder / f"{slug}.rst").write_text(text + "\n", encoding="utf-8")
    for name, group in GROUPS.items():
        (folder / f"{name}.txt").write_text("\n".join(_group_table(group, subjects)) + "\n", encoding="utf-8")
    config.autosummary_context = {
        "members_of": lambda full: members(_resolve(full)),
        "methods_of": lambda full: distribution_methods(_resolve(full)),
        "parameters_of": _parameters_of,
        "summary_of": lambda full: inspect.getdoc(type(_resolve(full))).partition("\n\n")[0],
    }
    config.autosummary_filename_map = _file_names(subjects)


def _resolve(full: str) -> Any:
    module, _, name = full.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _parameters_of(full: str) -> str:
    """Return the parameters of a distribution as code."""
    distribution = _resolve(full)
    if not isinstance(distribution, Distribution):
        return ""
    scale = ["loc", "scale"] if hasattr(distribution, "log_density") else ["loc"]
    return ", ".join(f"``{name}``" for name in (*distribution.shapes, *scale))


def _file_names(subjects: dict[str, Subject]) -> dict[str, str]:
    """Return other file names where two names differ by case alone, which some file systems do not tell apart."""
    names = [full for subject in subjects.values() for full in subject.names()]
    lower = [full.lower() for full in names]
    return {full: f"{full}-class" for full in names if lower.count(full.lower()) > 1 and full != full.lower()}


def _subject_page(subject: Subject) -> Iterator[str]:
    yield from (subject.title, "=" * len(subject.title), "", subject.text.replace("`", "``"), "")
    for title, names in subject.ordered():
        if title:
            yield from (title, "-" * len(title), "")
        for is_distribution in (False, True):
            chosen = [full for full in names if _is_distribution(full) == is_distribution]
            if chosen:
                yield from (".. autosummary::", "   :toctree: api")
                yield from ["   :template: autosummary/distribution.rst"] * is_distribution
                yield from ("   :nosignatures:", "", *(f"   {full}" for full in chosen), "")


def _group_table(group: tuple[str, ...], subjects: dict[str, Subject]) -> Iterator[str]:
    """Yield a table of pages, each with the line that says what is in it."""
    yield from (".. list-table::", "   :widths: 1 2", "")
    for slug in group:
        yield f"   * - :doc:`/reference/generated/{slug}`"
        yield f"     - {subjects[slug].text.replace('`', '``')}"


def _is_distribution(full: str) -> bool:
    return full.startswith("tapegrad.stats.") and not callable(_resolve(full))


def _numpy_names() -> Iterator[str]:
    title = "Names of NumPy's own"
    yield from (title, "=" * len(title), "")
    yield "``tapegrad`` has these objects of NumPy's under the same names, for programs that ``import tapegrad as np``."
    yield "They carry no gradient."
    yield from ("", ".. list-table::", "   :widths: 1 4", "")
    groups: dict[str, list[str]] = {}
    for name in numpys_names():
        groups.setdefault(_kind_of(_resolve(f"numpy.{name}")), []).append(name)
    for kind, names in sorted(groups.items()):
        yield f"   * - {kind}"
        yield f"     - {', '.join(f'``{name}``' for name in names)}"


def _kind_of(value: Any) -> str:
    if inspect.ismodule(value):
        return "modules"
    if isinstance(value, type):
        return "types"
    return (
        "functions"
        if inspect.isroutine(value) or hasattr(value, "__wrapped__")
        else "values and index objects"
    )


def _command_line() -> Iterator[str]:
    """Yield the page of the command line: the help of each command."""
    parser = cli.parser()
    title = "The command line"
    yield from (title, "=" * len(title), "", "``python -m tapegrad`` is the same command.", "")
    yield from _help(parser)
    commands = next(each for each in parser._actions if isinstance(each, argparse._SubParsersAction))
    for name, command in commands.choices.items():
        heading = f"tapegrad {name}"
        yield from (heading, "-" * len(heading), "", *_help(command))


def _help(parser: argparse.ArgumentParser) -> Iterator[str]:
    parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=92)
    yield from (".. code-block:: text", "", textwrap.indent(parser.format_help(), "   "), "")

"""The docstrings of all public names: complete, in NumPy's form, and with examples that run."""

import doctest
import inspect
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.offenders import assert_none
from helpers.site import public_names
from tapegrad import stats
from tapegrad.autodiff.custom.op import CustomOp
from tapegrad.autodiff.hooks import RemovableHook
from tapegrad.cli.generate.examples import OWN_FUNCTION
from tapegrad.engine.reference import evaluate_numpy
from tapegrad.frontend.functions.shapes.flat import FlatElements
from tapegrad.frontend.words.derived_docs import like
from tapegrad.ops import ELEMENTWISE, Op
from tapegrad.ops.documentation import DOCS
from tapegrad.stats.continuous import Continuous
from tapegrad.stats.discrete import Discrete
from tapegrad.stats.generic.families import GenericContinuous
from tapegrad.transforms.jit import Jit

PUBLIC_ROWS = [row for row in ELEMENTWISE if row.public]
# What public functions return: their classes are documented, too.
RETURNED = {"FlatElements": FlatElements, "RemovableHook": RemovableHook, "CustomOp": CustomOp, "Jit": Jit} | {
    "Continuous": Continuous, "Discrete": Discrete, "Dirichlet": type(stats.dirichlet),
    "Multinomial": type(stats.multinomial), "MultivariateNormal": type(stats.multivariate_normal),
    "Wishart": type(stats.wishart), "MultivariateT": type(stats.multivariate_t),
    "MatrixNormal": type(stats.matrix_normal), "GenericContinuous": GenericContinuous,
    "Gmrf": type(stats.gmrf), "Ar1": type(stats.ar1), "RandomWalk": type(stats.rw1), "besag": stats.besag,
    "bym2": stats.bym2, "matern_grid": stats.matern_grid, "matern_mesh": stats.matern_mesh,
}  # fmt: skip
SITE = public_names()
# The first words of the summaries of functions and methods: what they do, in the imperative.
VERBS = {
    "Add", "Apply", "Arrange", "Broadcast", "Build", "Check", "Clip", "Compute", "Convert", "Copy", "Count", "Create",
    "Divide", "Draw", "Evaluate", "Fit", "Give", "Insert", "Integrate", "Interchange", "Interpolate", "Join", "Lay",
    "Leave", "Limit", "List", "Make", "Minimise", "Move", "Multiply", "Negate", "Permute", "Raise", "Record",
    "Register", "Remove", "Repeat", "Replace", "Return", "Round", "Select", "Set", "Show", "Solve", "Sort", "Subtract",
    "Test", "Unwrap", "Write",
}  # fmt: skip
SECTIONS = (
    "Attributes", "Parameters", "Returns", "Raises", "Warns", "See Also", "Notes", "References", "Examples",
)  # fmt: skip


def is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Exception)


def _named() -> Iterator[tuple[str, Any]]:
    for name in dir(tg):
        value = getattr(tg, name)
        if callable(value) and value is not getattr(np, name, None):
            yield name, value
    for module in (tg.optimize, tg.sparse, tg.errors):
        for name, value in vars(module).items():
            own = getattr(value, "__module__", "").startswith(module.__name__)
            if own and not name.startswith("_") and (module is not tg.errors or is_error(value)):
                yield f"{module.__name__.rpartition('.')[2]}.{name}", value
    for name, value in vars(tg.linalg).items():
        if not name.startswith("_") and value is not getattr(np.linalg, name, None):
            yield f"linalg.{name}", value
    for name in tg.special.__all__:
        yield f"special.{name}", getattr(tg.special, name)
    yield from RETURNED.items()


def _members(name: str, value: type) -> Iterator[tuple[str, Any]]:
    for member in dir(value):
        full = f"{name}.{member}"
        if not member.startswith("_") and full not in SITE.INTERNAL and member in _own_names(value):
            yield full, inspect.getattr_static(value, member)


def _own_names(kind: type) -> set[str]:
    """Names of the attributes that a class does not have from Python itself, or from data."""
    own = [vars(base) for base in kind.__mro__ if base.__module__.startswith("tapegrad")]
    return {
        name
        for names in own
        for name, value in names.items()
        if callable(value) or isinstance(value, property)
    }


def _public() -> dict[str, Any]:
    """Everything public by its name, each thing once."""
    found: dict[int, tuple[str, Any]] = {}
    named = list(_named())
    members = [each for name, value in named if isinstance(value, type) for each in _members(name, value)]
    for name, value in (*named, *members):
        found.setdefault(id(value), (name, value))
    return dict(found.values())


PUBLIC = _public()
FUNCTIONS = {
    name: value
    for name, value in PUBLIC.items()
    if not isinstance(value, type | property) and callable(value)
}


def _doc(name: str) -> str:
    return inspect.getdoc(PUBLIC[name]) or ""


def _section(name: str, title: str) -> str:
    """The text of a section, empty if there is none."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n-{{3,}}$|\Z)", _doc(name), re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def _documented(name: str) -> list[str]:
    """The names in the section of parameters."""
    heads = re.findall(r"^(\S[^\n:]*?)(?: :[^\n]*)?$", _section(name, "Parameters"), re.MULTILINE)
    return [each.lstrip("*") for head in heads for each in head.split(", ")]


def _signature(name: str) -> list[str] | None:
    """The names of the arguments; `None` for what is written in C and does not say them."""
    try:
        known = list(inspect.signature(FUNCTIONS[name]).parameters)
    except ValueError:
        return None
    is_method = (
        "." in name and not name.startswith(("optimize.", "errors.", "linalg.", "sparse.", "special."))
    ) or name.count(".") == 2
    return known[1:] if is_method else known


def _faults_of_all(name: str) -> Iterator[str]:
    """What is missing in the docstring of anything."""
    lines = _doc(name).splitlines()
    if not lines:
        yield "there is no docstring"
        return
    if not lines[0].endswith("."):
        yield "the first line is to be a summary: a sentence on one line"
    if len(lines) > 1 and lines[1]:
        yield "a blank line follows the summary"
    titles = re.findall(r"^(\S[^\n]*)\n-{3,}$", _doc(name), re.MULTILINE)
    if titles != [title for title in SECTIONS if title in titles]:
        yield f"the sections are {', '.join(titles)}; NumPy has {', '.join(SECTIONS)}, in this order"


def _faults_of_functions(name: str) -> Iterator[str]:
    """What is missing in the docstring of a function or a method."""
    word = _doc(name).split()[0]
    if word not in VERBS:
        yield f"the summary begins with {word!r}; it is to say what the function does, in the imperative (one of VERBS)"
    annotation = inspect.get_annotations(FUNCTIONS[name]).get("return", "")
    if annotation not in (None, "None") and not _section(name, "Returns"):
        yield "there is no section Returns"
    if ">>>" not in _section(name, "Examples"):
        yield "there is no section Examples"
    yield from _faults_of_parameters(_signature(name), _documented(name))


def _faults_of_parameters(expected: list[str] | None, documented: list[str]) -> Iterator[str]:
    if set(documented) == {"args", "kwargs"}:
        return
    if expected is None:
        if not documented:
            yield "there is no section Parameters"
    elif missing := [each for each in expected if each not in documented]:
        yield f"the section Parameters lacks {', '.join(missing)}"
    elif unknown := [each for each in documented if each not in expected]:
        yield f"the section Parameters describes {', '.join(unknown)}, which the function does not take"
    elif documented != expected:
        yield f"parameters are to be in the order of the signature: {', '.join(expected)}"


def _faults(name: str) -> list[str]:
    return list(_faults_of_all(name)) or (list(_faults_of_functions(name)) if name in FUNCTIONS else [])


def test_docstrings_are_complete() -> None:
    found = [f"the docstring of {name}: {'; '.join(faults)}" for name in PUBLIC if (faults := _faults(name))]
    assert not found, "\n".join([*found, "tapegrad.sum shows the form"])


# --- examples ----------------------------------------------------------------------------------------------------


def _initial(name: str) -> str:
    return name.rpartition(".")[2][0].lower()


def _run(text: str, name: str) -> None:
    failures: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runner.run(test, out=failures.append)
    assert not runner.failures, "".join(failures)
    tg.check_tape()


@pytest.mark.parametrize("initial", sorted({_initial(name) for name in PUBLIC}))
def test_examples_run(initial: str) -> None:
    """All names with one initial, so that processes share them."""
    examples = {name: _doc(name) for name in PUBLIC if _initial(name) == initial and ">>>" in _doc(name)}
    assert_none(lambda name: _run(examples[name], name), examples)


def test_the_example_of_the_package_runs() -> None:
    assert tg.__doc__
    _run(tg.__doc__, "tapegrad")


README = (Path(__file__).parents[1] / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_readme_s_python_runs() -> None:
    """Its blocks follow each other, as they are read."""
    names: dict[str, Any] = {}
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), names)
    value, gradient = names["value"], names["gradient"]
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


# --- docstrings that are derived from others -----------------------------------------------------------------------


def _model() -> None:
    """Return the largest.

    Parameters
    ----------
    a : Tensor
        The largest of these.

    Notes
    -----
    Ties share.
    """


def test_a_derived_docstring_has_other_words_and_sections_in_their_order() -> None:
    @like(_model, ("largest", "smallest"), raises="ValueError\n    Always.", notes="", examples=">>> 1\n1")
    def derived() -> None: ...

    assert (derived.__doc__ or "").splitlines() == [
        "Return the smallest.", "",
        "Parameters", "----------", "a : Tensor", "    The smallest of these.", "",
        "Raises", "------", "ValueError", "    Always.", "",
        "Examples", "--------", ">>> import tapegrad as tg", ">>> 1", "1",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="'fastest'"):
        like(_model, ("fastest", "slowest"))


def test_every_public_name_is_on_a_page_of_the_reference() -> None:
    """By identity: a function of two names has one page."""
    pages = [full for subject in SITE.reference().values() for full in subject.names()]
    shown = {id(resolve_name(full.rpartition(".")[0]).__dict__[full.rpartition(".")[2]]) for full in pages}
    named = {name: value for name, value in _named() if name not in RETURNED and not name.startswith("_")}
    missing = [name for name, value in named.items() if id(value) not in shown]
    assert missing == []
    assert len(pages) == len(set(pages))


def test_a_page_of_the_reference_has_the_names_that_its_first_line_says() -> None:
    for subject in SITE.reference().values():
        names = {full.rpartition(".")[2] for full in subject.names()}
        said = {name for name in re.findall(r"`([\w.]+)`", subject.text) if "." not in name}
        assert said <= names, subject.title
        assert subject.text.endswith(".")


def test_without_docstrings_the_package_is_imported() -> None:
    subprocess.run([sys.executable, "-OO", "-c", "import tapegrad"], check=True)


# --- docstrings of the op table ---------------------------------------------------------------------------------------


def test_every_elementwise_op_is_described() -> None:
    missing = sorted({row.name for row in PUBLIC_ROWS} - DOCS.keys() - OWN_FUNCTION)
    assert not missing, f"say what {', '.join(missing)} do: entries of DOCS in ops/documentation.py"


def test_nothing_is_described_that_is_no_op() -> None:
    assert DOCS.keys() <= {row.name for row in PUBLIC_ROWS}


def test_the_usual_form_of_a_derivative_is_the_row_s_partial() -> None:
    stated = [row for row in PUBLIC_ROWS if row.name in DOCS and DOCS[row.name].derivatives]
    assert_none(_check_usual_form, stated, lambda row: row.name)


def _check_usual_form(row: Op) -> None:
    rng = np.random.default_rng(0)
    values = {f"x{j}": rng.uniform(*domain, 20) for j, domain in enumerate(row.domains)}
    y = evaluate_numpy(row.primal, **values)
    for usual, partial in zip(DOCS[row.name].derivatives, row.partials, strict=True):
        if not usual:  # described in words
            continue
        found, expected = (evaluate_numpy(text, y=y, **values) for text in (usual, partial))
        np.testing.assert_allclose(found, expected, rtol=1e-6)

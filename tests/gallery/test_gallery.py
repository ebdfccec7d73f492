"""The gallery: every script is short, draws one picture, and finds the answer that it says is known."""

import ast
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

from helpers.daily import daily
from helpers.offenders import assert_none

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
SECTIONS = ("measurement", "dynamics", "statistics", "methods")
SCRIPTS = sorted(path.relative_to(GALLERY).as_posix() for path in GALLERY.glob("*/*.py"))
NEEDS = {"dynamics/goddard_rocket.py": "ipyopt"}  # packages that there are no wheels of everywhere
MAX_LINES = 80
MAX_RTOL = 0.5  # of statistical estimates beside the parameters that their data were drawn with


def statements(script: str) -> ast.Module:
    return ast.parse((GALLERY / script).read_text(encoding="utf-8"))


def assigned(script: str, name: str) -> ast.expr:
    """Return the expression that the last assignment to a name in the body of a script has."""
    values = [
        node.value
        for node in statements(script).body
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]
    assert values, f"assign {name} at the end of the script"
    return values[-1]


def literal(script: str, name: str) -> Any:
    try:
        return ast.literal_eval(assigned(script, name))
    except ValueError:
        pytest.fail(f"{name} must be a literal, not computed")


def test_every_section_has_a_header() -> None:
    assert {script.partition("/")[0] for script in SCRIPTS} <= set(SECTIONS)
    for section in SECTIONS:
        assert (GALLERY / section / "GALLERY_HEADER.rst").is_file()


def _check_length(script: str) -> None:
    count = len((GALLERY / script).read_text(encoding="utf-8").splitlines())
    assert count <= MAX_LINES, f"{count} lines, of at most {MAX_LINES}"


def test_scripts_are_short() -> None:
    assert_none(_check_length, SCRIPTS)


def _check_title(script: str) -> None:
    title, underline, blank = ((ast.get_docstring(statements(script)) or "") + "\n" * 3).split("\n")[:3]
    assert title, "begin with a docstring: a title underlined by =, an empty line, and text"
    assert underline == "=" * len(title), "underline the title by as many ="
    assert not blank, "leave an empty line below the title"


def test_scripts_have_titles() -> None:
    assert_none(_check_title, SCRIPTS)


def _check_answer(script: str) -> None:
    known, rtol = literal(script, "known"), literal(script, "rtol")
    assert isinstance(known, dict), "known must be a dict of names and values"
    assert known, "known must have an entry"
    assert 0.0 < rtol <= MAX_RTOL, f"rtol must be in (0, {MAX_RTOL}]"
    found = assigned(script, "found")
    computed = [each for each in ast.walk(found) if isinstance(each, ast.Name | ast.Call)]
    assert computed, "found must be computed, not a literal"


def test_known_answers_are_literals_and_found_ones_are_not() -> None:
    assert_none(_check_answer, SCRIPTS)


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Draw without a screen, and close all figures."""
    plt.switch_backend("Agg")
    monkeypatch.setattr(plt, "show", lambda *args, **kwargs: None)
    with mpl.rc_context():
        yield
        plt.close("all")


@daily(every=4)
@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.usefixtures("pictures")
def test_scripts_find_the_known_answer(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each runs in its own folder, as the site is built, and draws one figure."""
    if script in NEEDS:
        pytest.importorskip(NEEDS[script])
    monkeypatch.chdir((GALLERY / script).parent)
    names = runpy.run_path(str(GALLERY / script), run_name="gallery_script")
    known, found, rtol = names["known"], names["found"], names["rtol"]
    assert found.keys() == known.keys()
    for name, value in known.items():
        np.testing.assert_allclose(found[name], value, rtol=rtol, err_msg=name)
    assert len(plt.get_fignums()) == 1
    for axes in plt.figure(plt.get_fignums()[0]).axes:
        assert axes.has_data() or axes.texts or not axes.axison

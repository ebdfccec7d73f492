"""The pages of the site: their code runs, cell by cell, and they have what readers look for on them."""

import ast
import linecache
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

import tapegrad
from helpers.daily import daily
from helpers.offenders import assert_none

DOCS = Path(__file__).parents[2] / "docs"
PACKAGE = Path(tapegrad.__file__).parent
BUILT = {"_build", "examples", "gallery"}
PAGES = sorted(
    path.relative_to(DOCS).as_posix()
    for path in DOCS.rglob("*.md")
    if not BUILT & set(path.relative_to(DOCS).parts) and "```{code-cell}" in path.read_text(encoding="utf-8")
)
WITHOUT_WHEELS = {"ipyopt"}  # packages that cells use and that are not installed on every system
_CELL = re.compile(r"^```\{code-cell\}[^\n]*\n((?::[^\n]*\n)*)(.*?)^```\s*$", re.DOTALL | re.MULTILINE)


class Cell(NamedTuple):
    """A cell of a page: its text, its line on the page, and whether it has to raise."""

    text: str
    line: int
    raises: bool


def cells(page: str) -> list[Cell]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return [
        Cell(each[2], text.count("\n", 0, each.start(2)), "raises-exception" in each[1])
        for each in _CELL.finditer(text)
    ]


def run(cell: Cell, page: str, names: dict[str, Any]) -> None:
    """Run a cell as a notebook does: statement by statement, and its text can be read."""
    name = f"<{page}, line {cell.line}>"
    linecache.cache[name] = (len(cell.text), None, cell.text.splitlines(keepends=True), name)
    for statement in ast.parse(cell.text).body:
        exec(compile(ast.Module([statement], []), name, "exec", dont_inherit=True), names)


@daily(every=5)
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.filterwarnings("default")  # pages show warnings
def test_cells_run_in_their_order(page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cell that is said to raise does, so that the page cannot go on showing an error that is gone."""
    module = ModuleType(
        "__main__"
    )  # where a notebook's names are, for pickles and for what a function can see
    monkeypatch.setitem(sys.modules, "__main__", module)
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    with mpl.rc_context():
        for cell in cells(page):
            if cell.raises:
                with pytest.raises(Exception):  # noqa: B017, PT011  the page shows which one
                    run(cell, page, vars(module))
            else:
                try:
                    run(cell, page, vars(module))
                except ModuleNotFoundError as error:
                    if error.name not in WITHOUT_WHEELS:
                        raise
                    pytest.skip(f"{page}, line {cell.line} needs {error.name}")
        plt.close("all")


def _check_links(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    for name in re.findall(r"\{doc\}`(?:[^`<]*<)?([^`>]+)>?`", text):
        target = DOCS / name.lstrip("/") if name.startswith("/") else (DOCS / page).parent / name
        made = {"generated", "examples"} & set(target.parts)
        assert made or any(target.with_suffix(end).is_file() for end in (".md", ".rst")), f"no page {name}"


def test_links_between_pages_lead_to_pages() -> None:
    """The build checks these, too; here they are checked without Sphinx."""
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    assert_none(_check_links, [page for page in pages if not BUILT & set(Path(page).parts)])


def test_every_environment_variable_has_its_row() -> None:
    text = (DOCS / "reference" / "environment.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(TAPEGRAD_\w+)`", text, re.MULTILINE))
    sources = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    assert listed == set(re.findall(r"[\"'](TAPEGRAD_\w+)[\"']", sources))


def test_links_of_the_readme_lead_to_files() -> None:
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#:]+)\)", text)
    assert targets
    assert not [target for target in targets if not (DOCS.parent / target).exists()]

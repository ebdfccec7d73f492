"""The syntax tree of a function is found only where the text at hand means what was imported."""

import ast
import importlib
import importlib.util
import linecache
import py_compile
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tapegrad.engine.codegen.translator.compiler import entry_point
from tapegrad.engine.codegen.translator.definitions import definition

TEXT = """from __future__ import annotations

import math


def decorated(function):
    return function


@decorated
def f(a, b=1):
    return math.floor(a) + b if a > 1 else a + 1
"""
CHANGES = {
    "another number": ("a + 1", "a + 2"),
    "a number of another type": ("a + 1", "a + 1.0"),
    "a bool": ("a + 1", "a + True"),
    "another operator": ("a > 1", "a < 1"),
    "another name": ("math.floor", "math.ceil"),
    "other arguments": ("f(a, b=1)", "f(b, a=1)"),
    "a line more": ("import math", "import math\n"),
    "a line less": ("\n\n\n@decorated", "\n\n@decorated"),
    "another function there": ("def f(", "def g("),
    "no function there": (TEXT, ""),
    "no Python": ("import math", "import math ("),
    "null bytes": ("import math", "import math\0"),
}
FOUND = {
    "module level": TEXT,
    "a closure": "def make(k):\n    def f(a):\n        return a + k\n    return f\n\n\nf = make(3)\n",
    "a method": "class A:\n    def f(self, a):\n        return self.__b + a\n\n\nf = A.f\n",
    "an import below": "def f(a):\n    return math.floor(a)\n\n\nif True:\n    import math\n",
    "a function inside": "def f(a):\n    def g(b):\n        return b + 0.0\n    return g(a)\n",
    "two of one name": "def f(a):\n    return a\n\n\ndef f(a):\n    return a + 1\n",
}
LEFT = {"a lambda": "f = lambda a: a + 1\n", "two lambdas": "f, g = lambda a: a + 1, lambda a: a + 2\n"}


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Import a module with this text; its file is `edited.py` in the folder of the test."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(tmp_path))

    def load(text: str) -> ModuleType:
        (tmp_path / "edited.py").write_text(text)
        monkeypatch.delitem(sys.modules, "edited", raising=False)
        importlib.invalidate_caches()
        return importlib.import_module("edited")

    monkeypatch.setitem(sys.modules, "edited", None)  # taken out again at the end
    return load


def has_definition(function: Any) -> bool:
    found = definition(function)
    return found is not None and found.name == function.__name__


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_text_is_no_definition(change: str, imported: Any, tmp_path: Path) -> None:
    function = imported(TEXT).f
    (tmp_path / "edited.py").write_text(TEXT.replace(*CHANGES[change]))
    assert definition(function) is None


def test_changes_that_leave_the_code_as_it_is_do_no_harm(imported: Any, tmp_path: Path) -> None:
    """A comment, an annotation, another function."""
    function, text = (
        imported(TEXT).f,
        TEXT.replace("a + 1", "a + 1  # here").replace("return function", "pass"),
    )
    (tmp_path / "edited.py").write_text(text.replace("(a, b=1)", "(a: int, b=1)"))
    assert has_definition(function)


@pytest.mark.parametrize("kind", FOUND)
def test_definitions_are_found(kind: str, imported: Any) -> None:
    function = imported(FOUND[kind]).f
    assert has_definition(function)
    assert definition(function) is definition(function)


@pytest.mark.parametrize("kind", LEFT)
def test_what_is_no_def_has_no_definition(kind: str, imported: Any) -> None:
    assert definition(imported(LEFT[kind]).f) is None


def test_text_that_was_read_before_a_change_is_used_on(imported: Any, tmp_path: Path) -> None:
    function = imported(TEXT).f
    assert has_definition(function)
    (tmp_path / "edited.py").write_text(TEXT.replace("a + 1", "a + 2"))
    assert ast.unparse(definition(function)).endswith("a + 1")


def test_a_module_that_is_imported_again_has_its_new_definitions(imported: Any, tmp_path: Path) -> None:
    old = imported(TEXT).f
    assert has_definition(old)
    new = imported(TEXT.replace("a + 1", "a + 22")).f
    assert ast.unparse(definition(new)).endswith("a + 22")
    assert definition(old) is None


def test_a_cell_of_a_notebook_is_compiled_statement_by_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    """So IPython does; calls through a module that the cell imports then have other code than in a file."""
    text = "import math\n\ndef f(a):\n    return math.floor(a)\n"
    names: dict[str, Any] = {}
    monkeypatch.setitem(linecache.cache, "<cell>", (len(text), None, text.splitlines(True), "<cell>"))
    for statement in ast.parse(text).body:
        exec(compile(ast.Module([statement], []), "<cell>", "exec"), names)
    assert has_definition(names["f"])


def test_without_a_source_there_is_no_definition(imported: Any, tmp_path: Path) -> None:
    imported(TEXT)
    file = tmp_path / "edited.py"
    py_compile.compile(str(file), cfile=str(file.with_suffix(".pyc")))
    file.unlink()
    del sys.modules["edited"]
    importlib.invalidate_caches()
    assert definition(importlib.import_module("edited").f) is None


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("a + 1", "a + 2"), None])
def test_cells_of_notebooks(text: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their text is kept beside the text of files, if at all."""
    names: dict[str, Any] = {}
    cell = f"<cell of {text}>"
    exec(compile(TEXT, cell, "exec", dont_inherit=True), names)
    if text is not None:
        monkeypatch.setitem(linecache.cache, cell, (len(text), None, text.splitlines(True), cell))
    assert has_definition(names["f"]) == (text == TEXT)


def test_code_without_columns_has_a_definition(imported: Any) -> None:
    """A .pyc file may have been written under ``-X no_debug_ranges``."""
    function = imported(TEXT).f
    function.__code__ = function.__code__.replace(co_linetable=function.__code__.co_linetable[:2])
    assert has_definition(function)


def test_what_was_imported_is_compiled(
    imported: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where the file has been changed before the first call."""
    text = "def f(a):\n    return a + 1\n"
    module = imported(text)
    monkeypatch.setattr("tapegrad.engine.codegen.store.cache.folder", lambda: None)
    monkeypatch.setattr("tapegrad.engine.codegen.store.cache.complaints.made", True)
    (tmp_path / "edited.py").write_text(text.replace("a + 1", "a + 2"))
    assert entry_point()(module.f)(1) == 2

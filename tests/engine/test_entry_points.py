"""Entry points are used as ``module.name``: the first call replaces the name in the module by what is compiled."""

import ast
import importlib
from pathlib import Path

import tapegrad
from tapegrad.engine.codegen.translator.compiler import ENTRY_POINTS

ROOT = Path(tapegrad.__file__).parents[1]
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path
    for path in sorted(ROOT.glob("tapegrad/**/*.py"))
}
for _name in FILES:
    if _name.startswith(("tapegrad.engine.sweep.", "tapegrad.engine.tape.")):
        importlib.import_module(_name)


def test_no_entry_point_is_imported_by_name():
    """A name of its own would keep the slow wrapper for ever."""
    found = [
        f"{module}:{node.lineno} imports {alias.name} of {node.module} by name; import the module, and call it there"
        for module, path in FILES.items()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if (node.module, alias.name) in ENTRY_POINTS
    ]
    assert not found, "\n".join(found)


def test_entry_points_are_where_their_names_say():
    own = [(module, name) for module, name in ENTRY_POINTS if module in FILES]  # tests make some of their own
    assert own
    missing = [
        f"{module}.{name}" for module, name in own if not hasattr(importlib.import_module(module), name)
    ]
    assert not missing

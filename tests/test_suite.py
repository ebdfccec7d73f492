"""The suite itself: what a test draws does not depend on the tests that ran before it."""

import ast
from collections.abc import Iterator
from pathlib import Path

from helpers.offenders import assert_none

TESTS = Path(__file__).parent
GENERATORS = {"default_rng", "Generator", "Random", "RandomState"}


def shared_statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements of modules and classes, which all functions share."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from shared_statements(child)


def is_generator(value: ast.AST | None) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in GENERATORS


def draws_from_seeds_of_its_own(path: Path) -> None:
    """Refuse generators that cases share; data that is drawn once, by a generator of its own, may be shared."""
    assignments = ast.Assign | ast.AnnAssign | ast.NamedExpr
    shared = [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in shared_statements(ast.parse(path.read_text()))
        if isinstance(node, assignments) and is_generator(node.value)
    ]
    assert not shared, f"{'; '.join(shared)}: take the fixture `rng`"


def test_no_generator_is_shared_between_cases() -> None:
    assert_none(
        draws_from_seeds_of_its_own, sorted(TESTS.rglob("*.py")), lambda path: f"{path.relative_to(TESTS)}"
    )

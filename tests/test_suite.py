"""The suite itself: what a test draws does not depend on the tests that ran before it, and cases have names."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.lambda_texts import text_of_lambda
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


# --- names of cases ----------------------------------------------------------------------------------------------

LAMBDAS = [lambda x: x @ x, lambda x, y: [x, y][::2], lambda f: lambda x: f(x) + 1, lambda: 2.5, lambda t: (
    t
    if t > 0.0
    else -t)]  # fmt: skip


def test_a_lambda_names_a_case_by_its_text() -> None:
    names = [text_of_lambda(function) for function in LAMBDAS]
    assert names == ["x @ x", "[x, y][::2]", "lambda x: f(x) + 1", "2.5", "t if t > 0.0 else -t"]
    assert text_of_lambda(LAMBDAS[2](len)) == "f(x) + 1"


@pytest.mark.parametrize("function", [lambda x: x + 1, lambda x: x - 1])
def test_cases_of_lambdas_have_these_names(function: Any, request: pytest.FixtureRequest) -> None:
    assert request.node.callspec.id == ("x + 1" if function(0) == 1 else "x - 1")


def test_settings_of_pytest_are_strict(pytestconfig: pytest.Config) -> None:
    """Two cases of one name, an unknown setting or marker, and a failure that passes are errors."""
    assert pytestconfig.getini("strict") is True
    for name in ("config", "markers", "parametrization_ids", "xfail"):
        assert pytestconfig.getini(f"strict_{name}") is not False

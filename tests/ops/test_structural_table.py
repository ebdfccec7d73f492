"""Whoever adds a structural op is told what is missing and where it goes.

A row stands for kernels, derivatives of derivatives and a test case; nothing here names an op.
"""

import ast
import importlib
import importlib.util
import operator
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tapegrad
from helpers.offenders import assert_none
from tapegrad.engine import kernel_table
from tapegrad.engine.kernels.language.dtypes import entry_point
from tapegrad.engine.tape.fields import layout
from tapegrad.frontend.recording.rules import RULES, TRANSPOSES
from tapegrad.ops import CODES, FUSED, KINDS, ROWS, STRUCTURAL, Structural, params
from tapegrad.ops.row import EMITTED
from tapegrad.program.lanes import rules as lane_rules

NAME = operator.attrgetter("name")


@pytest.fixture(scope="module", autouse=True)
def _all_rules_are_stated() -> None:
    """Execute the modules of the package that are executed when something in them is first asked for."""
    executed = 0
    while executed < len(known := [name for name in sys.modules if name.partition(".")[0] == "tapegrad"]):
        executed = len(known)
        for name in known:
            dir(sys.modules[name])


# --- kernels ---------------------------------------------------------------------------------------------------


_BY_HAND = {row.name for row in STRUCTURAL if row.functions != EMITTED}
WRITTEN = [name for name in kernel_table.kernels() if name.op in _BY_HAND]


def test_every_kernel_that_a_row_promises_is_written() -> None:
    assert_none(check_kernel, WRITTEN)


def check_kernel(name: kernel_table.KernelName) -> None:
    module, function = ROWS[CODES[name.op]].kernel(name.dtype, name.direction)
    assert importlib.util.find_spec(module), (
        f"{name.op}: its kernels should be in {module}, which is not there"
    )
    entry_point(importlib.import_module(module), function)


def test_kinds_have_the_numbers_that_compiled_code_knows() -> None:
    assert [getattr(layout, kind.upper()) for kind in KINDS] == list(range(len(KINDS)))


# --- derivatives -----------------------------------------------------------------------------------------------


def test_every_derivative_has_a_derivative() -> None:
    assert_none(check_derivative, STRUCTURAL, NAME)


def check_derivative(row: Structural) -> None:
    stated = row.name in RULES
    if row.differentiable and not row.linear:
        assert stated, (
            f"{row.name}: its row names no transpose, so it is not linear; state_rules({row.name!r}, reverse, forward)"
            " must say what its derivatives are as expressions on Tensors, beside the function in frontend"
        )
    else:
        assert not stated, f"{row.name}: its derivatives follow from its row; drop its structural rules"


def test_every_transpose_is_known() -> None:
    assert_none(check_transpose, STRUCTURAL, NAME)


def check_transpose(row: Structural) -> None:
    if row.transpose is None:
        return
    assert row.transpose in CODES or row.transpose in TRANSPOSES, (
        f"{row.name}: its transpose {row.transpose!r} is neither an op of the table, nor a function that is"
        " stated by @state_transpose, beside the function in frontend"
    )
    if row.transpose in CODES:
        other = ROWS[CODES[row.transpose]]
        assert _fields_of_record(other.params) == _fields_of_record(row.params), (
            f"{row.name}: its transpose {other.name!r} must have parameters of the same names, in the same order"
        )


def test_every_rule_is_of_some_row() -> None:
    unknown = (RULES.keys() - {row.name for row in STRUCTURAL}) | (
        TRANSPOSES.keys() - {row.transpose for row in STRUCTURAL}
    )
    assert not unknown, (
        f"{', '.join(sorted(unknown))}: stated in frontend, but no row of ops/structural has the name"
    )


def _fields_of_record(record: Any) -> list[tuple[str, Any]]:
    return [] if record is None else list(record.__annotations__.items())


# --- facts of ops ----------------------------------------------------------------------------------------------


def test_every_batching_rule_is_of_some_row() -> None:
    assert lane_rules.RULES.keys() == {row.batching for row in STRUCTURAL} - {None}


PACKAGE = Path(tapegrad.__file__).parent
# Words that name kinds of binding or forms in segments, as well as ops
AMBIGUOUS = KINDS.keys() | FUSED.keys()
NAMES = {row.name for row in STRUCTURAL} - AMBIGUOUS
FILES = [
    path.relative_to(PACKAGE)
    for folder in ("engine", "program", "transforms")
    for path in sorted((PACKAGE / folder).rglob("*.py"))
    if not path.is_relative_to(PACKAGE / "engine" / "kernels")
]


def test_facts_of_structural_ops_are_fields_of_their_rows() -> None:
    assert_none(check_names, FILES)


def check_names(path: Path) -> None:
    tree = ast.parse((PACKAGE / path).read_text("utf-8"))
    texts = [
        each for each in ast.walk(tree) if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]
    emitted = [] if path.parts[0] == "engine" else [id(each) for each in _codes(tree)]
    named = [
        f"{each.value} in line {each.lineno}"
        for each in texts
        if each.value in NAMES and id(each) not in emitted
    ]
    assert not named, (
        f"{', '.join(named)}: facts of an op are fields of its row, in ops/structural"
        " (above the engine, CODES[...] may name an op to record it)"
    )


def _codes(tree: ast.Module) -> list[ast.expr]:
    """Return the names of ops in expressions such as `CODES["gather"]`."""
    taken = [each for each in ast.walk(tree) if isinstance(each, ast.Subscript)]
    return [each.slice for each in taken if isinstance(each.value, ast.Name) and each.value.id == "CODES"]


# --- parameters ------------------------------------------------------------------------------------------------


REGION = params.Region(16, (2, 3), (24, -8), (0, 8))
EXAMPLES = {int: 5, params.Region: REGION, tuple[params.Region, ...]: (REGION, params.Region(0, (), (), ()))}


def test_parameters_are_fields_and_fields_are_parameters() -> None:
    assert_none(check_fields, [row for row in STRUCTURAL if row.params], NAME)


def check_fields(row: Structural) -> None:
    kinds = [kind for _, kind in _fields_of_record(row.params)]
    assert set(kinds) <= EXAMPLES.keys(), f"{row.name}: fields of its parameters are int, Region or regions"
    record = row.params(*[EXAMPLES[kind] for kind in kinds])
    fields = params.fields_of(record)
    assert params.read(row.params, fields) == record
    for wrong in ([*fields, 0], fields[:-1], []):
        with pytest.raises(ValueError, match=r"fields are too (many|few) for"):
            params.read(row.params, wrong)


def test_parameters_are_those_of_the_row() -> None:
    assert_none(check_parameters, STRUCTURAL, NAME)


def check_parameters(row: Structural) -> None:
    class Others(NamedTuple):
        k: int

    named = row.params.__name__ if row.params else "no parameters"
    with pytest.raises(TypeError, match=f"{row.name}: its row in the table says .*{named}"):
        kernel_table.params_fields(CODES[row.name], Others(1))


# --- rows that nothing could be made of ------------------------------------------------------------------------


class NoRule(NamedTuple):
    k: int


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"kind": "circular"}, "its row says the kind 'circular', not one of elementwise, broadcast_sum"),
        (
            {"transpose": "broadcast", "primals": (None,)},
            "names a transpose, but no operand that has a cotangent",
        ),
        ({"params": NoRule}, "NoRule lacks the method `broken`"),
        ({"fused_as": "spiral"}, "its row says fused_as='spiral', not one of sum, exponentials"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_row_is_refused_with_a_sentence(said: dict[str, Any], expected: str) -> None:
    row: dict[str, Any] = {
        "name": "turn",
        "kind": "opaque",
        "functions": "turn.turn_{dtype}",
        "primals": ((),),
    }
    with pytest.raises(ValueError, match=f"^turn: .*{expected}"):
        Structural(**{**row, **said})

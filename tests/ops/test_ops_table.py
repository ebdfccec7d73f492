"""The op table against NumPy and mpmath: every primal, every partial."""

import dataclasses
import math
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest

from helpers.daily import drawn, share
from helpers.mpmath_oracle import (
    DIFFERENTIABLE,
    MP,
    agrees,
    exact_value,
    in_mp,
    is_close,
    operands_in_mp,
    points,
)
from helpers.offenders import assert_none
from helpers.table_loops import grouped
from tapegrad.cli.generate import examples
from tapegrad.engine.codegen import kernels
from tapegrad.engine.codegen.rows.case import Case
from tapegrad.engine.kernels.language import library
from tapegrad.engine.reference import evaluate_numpy
from tapegrad.frontend.recording.elementwise import FUNCTIONS
from tapegrad.ops import BY_NAME, CODES, CONSTANTS, ELEMENTWISE, PRIMALS, STRUCTURAL, Op, names_in

PARTIALS = [
    pytest.param(op, j, id=f"{op.name}-{j}")
    for op in DIFFERENTIABLE
    for j in range(op.arity)
    if j not in op.boolean_operands and op.partials[j] != "nan"
]


def derivative(op: Op, j: int, row: tuple[float, ...]) -> object:
    """The derivative of the primal by operand `j`, by differences at high precision."""
    operands = operands_in_mp(row)

    def along(x: object) -> object:
        return in_mp(op.primal, **{f"x{k}": x if k == j else value for k, value in enumerate(operands)})

    return mp.diff(along, operands[j], h=mp.mpf(10) ** -25)


# Relative errors of SciPy's loops that are larger than 1e-12; Tukey's derivative cancels where its operand is near 0.
_ERRORS = {"lpmv": 1e-10, "tklmbda": 1e-10}


@grouped("op")
@drawn
@pytest.mark.parametrize(("op", "j"), PARTIALS)
def test_partial_is_the_derivative_of_the_primal(op: Op, j: int) -> None:
    with mp.workdps(60):
        for row in points(op, share(8)):
            values = {f"x{k}": x for k, x in enumerate(operands_in_mp(row))}
            partial = in_mp(op.partials[j], **values, y=in_mp(op.primal, **values))
            assert is_close(partial, derivative(op, j, row), 1e-14), row


@grouped("op")
@drawn
@pytest.mark.parametrize(("op", "j"), PARTIALS)
def test_partial_is_accurate_in_float64(op: Op, j: int) -> None:
    with mp.workdps(60):
        for row in points(op, share(20)):
            values = {f"x{k}": np.asarray(x) for k, x in enumerate(row)}
            y = evaluate_numpy(op.primal, **values)
            error = abs(mp.mpf(float(evaluate_numpy(op.partials[j], **values, y=y))) - derivative(op, j, row))
            # SciPy's Bessel and Airy functions are good to 4e-14, and the partials are differences of them
            rounding = 1e-13 * abs(float(y)) if op.family == "bessel" else 0.0
            relative = _ERRORS.get(op.name, 1e-12)
            assert error <= relative * abs(derivative(op, j, row)) + rounding, row


@drawn
@pytest.mark.parametrize(
    "op", [op for op in ELEMENTWISE if op.takes_real and not op.predicate], ids=lambda op: op.name
)
def test_primal_is_the_function_of_its_name(op: Op) -> None:
    with mp.workdps(60):
        for row in points(op, share(20)):
            primal = float(evaluate_numpy(op.primal, **{f"x{j}": np.asarray(x) for j, x in enumerate(row)}))
            exact = exact_value(op, row)
            assert agrees(primal, exact, _ERRORS.get(op.name, 1e-12)), (
                f"{op.name}{row}: the primal is {primal}, MP of the oracle says {mp.nstr(exact, 17)}"
            )


@pytest.mark.parametrize("op", [op for op in ELEMENTWISE if op.ufunc], ids=lambda op: op.name)
def test_primal_is_the_ufunc(op: Op) -> None:
    columns = [np.array(column) for column in zip(*points(op, 50), strict=True)]
    result = evaluate_numpy(op.primal, **{f"x{j}": column for j, column in enumerate(columns)})
    expected = getattr(np, op.ufunc)(*columns)
    np.testing.assert_array_equal(result, expected)


def test_rows_are_well_formed() -> None:
    assert_none(check_form, ELEMENTWISE, lambda op: op.name)


def check_form(op: Op) -> None:
    assert len(op.partials) == (0 if op.predicate else op.arity)
    assert len(op.domains) == op.arity
    read = {f"x{j}" for j in range(op.arity)}
    assert names_in(op.primal) & {"x0", "x1", "x2", "y"} <= read
    for j in range(len(op.partials)):
        assert op.needs(j) <= read | {"y"}
    texts = (*op.partials, *op.complex_partials, *op.conjugate_partials)
    assert op.keeps_operands == {j for j in range(op.arity) for text in texts if f"x{j}" in names_in(text)}
    for partials in (op.complex_partials, op.conjugate_partials):
        assert len(partials) in (0, op.arity)
        assert not partials or op.takes_complex


def test_oracle_knows_every_function() -> None:
    assert_none(check_oracle, ELEMENTWISE, lambda op: op.name)


def check_oracle(op: Op) -> None:
    called = set().union(*map(names_in, (op.primal, *op.partials))) - PRIMALS - CONSTANTS.keys()
    missing = sorted((called if op.ufunc else called | {op.name}) - MP.keys())
    assert not missing, f"{op.name}: say in MP of tests/helpers/mpmath_oracle.py what {missing} are in mpmath"


def test_unknown_library_function_is_said_in_a_sentence() -> None:
    row = dataclasses.replace(BY_NAME["erf"], name="bessel", primal="bessel_i0(x0)")
    with pytest.raises(
        LookupError, match=r"^\"?bessel: 'bessel_i0' is no function .* engine/kernels/language/library\.py"
    ):
        kernels.bodies(Case(row, "f64"), "forward")
    with pytest.raises(LookupError, match="enter it in engine/kernels/language/library"):
        library.entry("bessel_i0")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("op", [op for op in ELEMENTWISE if op.commutative], ids=lambda op: op.name)
def test_commutative_ops_are_so_to_the_last_bit(op: Op, dtype: type) -> None:
    special = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, 1e300]
    with np.errstate(over="ignore"):
        drawn = np.array([*special, *np.random.default_rng(0).uniform(-9, 9, 40)]).astype(dtype)
    x, y = (each.ravel() for each in np.meshgrid(drawn, drawn))
    one, other = (FUNCTIONS[op.name](*pair).data for pair in ((x, y), (y, x)))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(np.signbit(one)[one == 0], np.signbit(other)[one == 0])


def test_codes_count_all_rows() -> None:
    assert sorted(CODES.values()) == list(range(len(ELEMENTWISE) + len(STRUCTURAL)))
    assert len(BY_NAME) == len(ELEMENTWISE)


def test_generated_examples_are_those_of_the_table() -> None:
    assert examples.main(["--check"]) == 0


def test_a_file_that_differs_is_reported_or_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "examples.tsv"
    monkeypatch.setattr(examples, "EXAMPLES", path)
    assert examples.main(["--check"]) == 1
    assert capsys.readouterr().err == f"{path}: differs from the op table; run `make gen`\n"
    assert examples.main([]) == 0
    assert capsys.readouterr().out == f"wrote {path}, from the op table\n"
    assert examples.main(["--check"]) == 0
    assert examples.main([]) == 0
    assert capsys.readouterr().out == "nothing to write: the op table and the files agree\n"

"""Random programs in all modes, against plain NumPy and its differences; and the generator itself.

``python -m helpers.compositions.fuzz`` in this folder runs many, and makes those that fail smaller.
"""

import dataclasses
import re

import numpy as np
import pytest

from helpers.compositions import program as programs
from helpers.compositions.blocks import BLOCKS
from helpers.compositions.check import Counts, check_program
from helpers.compositions.generate import generate
from helpers.compositions.modes import INNER, OUTER, QUANTITIES, Mode, draw_modes
from helpers.compositions.oracle import Oracle
from helpers.compositions.program import Program
from helpers.compositions.shrink import script, shrink
from helpers.compositions.templates import FEATURES
from helpers.daily import NEW_SEEDS, not_daily, random_seeds
from mutants import read_mutants

_MAX_REFUSED_SHARE = 0.1


def check(seeds: range, features: tuple[str, ...] = ()) -> None:
    """Check the programs of some seeds, and fail with the first finding as a script.

    Few are refused; but of a few new programs all may be, by one statement.
    """
    counts = Counts()
    for seed in seeds:
        finding = check_program(generate(seed, features), seed, counts=counts)
        if finding:
            pytest.fail(f"{finding}\n\n{script(shrink(finding, 5.0))}")
    most = max(2, _MAX_REFUSED_SHARE * (counts.checked + counts.refused))
    assert seeds.start >= NEW_SEEDS or counts.refused <= most, counts


@random_seeds(20, 32, 2)
def test_random_programs(seeds: range) -> None:
    check(seeds)


@random_seeds(1005, 12, 1)
def test_random_loops_of_python(seeds: range) -> None:
    check(seeds, ("elementwise", "writes", "loop", "recurrence"))


@random_seeds(2008, 12, 1)
def test_random_loops_of_the_library(seeds: range) -> None:
    check(seeds, ("arithmetic", "choices", "scan", "while", "cond", "branch"))


@random_seeds(3002, 16, 2)
def test_random_complex_programs(seeds: range) -> None:
    check(seeds, ("complex", "cuts", "spectra", "writes"))


@random_seeds(4000, 16, 2)
def test_random_programs_of_moved_elements(seeds: range) -> None:
    check(seeds, ("repeats", "gathers", "views", "joins", "powers"))


@not_daily
@random_seeds(5000, 120, 4)
def test_many_random_programs(seeds: range) -> None:
    check(seeds)


def test_mutants_are_edits_of_this_version() -> None:
    """Each text that a mutant replaces stands once in its file."""
    assert {mutant.name: mutant.count for mutant in read_mutants([]) if mutant.count != 1} == {}


# --- the generator -------------------------------------------------------------------------------------------------

_CUBE = "def f(x):\n    v = np.sin(x) * x\n    return np.sum(v ** 3)\n"
_CHOICE = """def f(x):
    v0 = np.arctan(x)
    v1 = np.exp(x * 0.1)
    v2 = cond(v1[0] > 0.5, lambda c: np.sin(c) * v1, lambda c: c, x)
    v3 = v2 * 2.0
    return np.sum(v3)
"""


def program_of(text: str, *x: float) -> Program:
    """Return a program of one vector."""
    point, u = np.array(x), np.linspace(0.5, -1.0, len(x))
    return Program(text, [(point,)], [{}], ((u,), (u[::-1] + 0.3,)), argnums=(0,))


def test_differences_are_derivatives() -> None:
    program = program_of("def f(x):\n    return np.sum(np.exp(x))\n", 0.3, -0.8, 1.1)
    (x,), ((u,), (v,)) = program.points[0], program.directions
    for order, factors in ((1, u), (2, u * v), (3, u * v * v)):
        found = Oracle(program).derivative(order, 0, 0)
        assert found is not None
        assert float(found.value) == pytest.approx(np.sum(np.exp(x) * factors), rel=10.0 ** (3 * order - 14))


@pytest.mark.parametrize("text", ["np.abs(x)", "np.sqrt(np.abs(x) ** 3)", "np.maximum(x, 0.01)", "1 / x"])
def test_kinks_and_poles_have_no_derivative(text: str) -> None:
    program = program_of(f"def f(x):\n    return np.sum({text})\n", 0.005, -0.8)
    assert Oracle(program).derivative(1, 0, 0) is None


_SINGULAR = (
    "np.unique(x)",
    "jvp(np.unique, (x,), (np.cos(x) * np.arange(3.0),))[1]",
    "np.abs(x) ** 2",
    "np.ptp(x[:2]) ** 2",
    "np.max(x[:2]) * np.min(x[:2])",
    "np.maximum(x[0], x[1]) * np.minimum(x[0], x[1])",
    "np.sort(x)[0] * np.sort(x)[1]",
    "np.linalg.norm(x[:2]) ** 2",
    "(np.sqrt(x * 1j) ** 2).imag",
    "((x * 1j) ** 0.5 * (x * 1j) ** 0.5).imag",
)


@pytest.mark.parametrize("text", _SINGULAR)
def test_singular_parts_have_no_derivative(text: str) -> None:
    """Values go on smoothly where a tie moves apart, or where a magnitude or a root that is zero is squared."""
    program = program_of(f"def f(x):\n    return np.sum({text})\n", 0.0, 0.0, 0.7)
    assert Oracle(program).derivative(1, 0, 0) is None
    apart = dataclasses.replace(program, points=[(np.array([0.3, -0.2, 0.7]),)])
    assert Oracle(apart).derivative(1, 0, 0) is not None


@pytest.mark.parametrize(
    "text",
    [
        "np.max(np.stack([x, x / 3 * 3]), axis=0)",
        "np.sort(np.repeat(x, 2)) ** 2",
        "np.sort([x, x + 1], axis=0)",
    ],
)
def test_ties_that_stay_have_a_derivative(text: str) -> None:
    program = program_of(f"def f(x):\n    return np.sum({text})\n", 0.3, -0.2, 0.7)
    assert Oracle(program).derivative(1, 0, 0) is not None


def test_programs_have_no_sign_of_a_determinant_that_is_zero() -> None:
    program = program_of(
        "def f(x):\n    return np.linalg.slogdet(np.stack([x, x / 3 * 3.0]))[0]\n", 0.3, -0.8
    )
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        Oracle(program).value(0)


def test_programs_do_not_write_to_their_arguments() -> None:
    program = program_of("def f(x):\n    x[:1] = 2.0\n    return np.sum(x)\n", 0.3, -0.8)
    with pytest.raises(ValueError, match="read-only"):
        Oracle(program).value(0)


def test_each_feature_is_drawn() -> None:
    for feature in FEATURES:
        names = ("elementwise", "complex") if feature in ("cuts", "spectra") else ("elementwise",)
        assert any(len(generate(seed, (feature, *names)).text.splitlines()) > 3 for seed in range(3)), feature


_SIGNS = {
    "recurrence": r"for i in",
    "loop": r"for i in",
    "branch": r"if ",
    "inner_map": r"vmap\(",
    "fori": r"fori_loop\(",
}
_SIGNS |= {"scan_of_two": r"scan\(", "while": r"while_loop\(", "inner_derivative": r"(grad|jvp|hvp)\("}


@pytest.mark.parametrize("block", BLOCKS)
def test_each_block_is_drawn(block: str) -> None:
    texts = (generate(seed, ("elementwise", block)).text for seed in range(12))
    assert any(re.search(_SIGNS.get(block, rf"{block}\("), text) for text in texts)


def test_each_part_of_a_mode_is_drawn(rng: np.random.Generator) -> None:
    program = program_of(_CUBE.replace("    v =", "    for i in range(2): v ="), 0.3, -0.8)
    modes = [mode for _ in range(25) for mode in draw_modes(rng, program, np.array(1.0), 20)]
    assert {mode.inner for mode in modes} == INNER.keys()
    assert {mode.quantity for mode in modes} == QUANTITIES.keys()
    assert {mode.outer for mode in modes} == {*OUTER}


@pytest.mark.parametrize("order", range(4))
def test_each_quantity_is_right(order: int) -> None:
    modes = [Mode("", name, "") for name, each in QUANTITIES.items() if each.order == order]
    counts = Counts()
    assert check_program(program_of(_CUBE, 0.3, -0.8), 0, counts=counts, modes=modes) is None
    assert (counts.checked, counts.refused, counts.unknown) == (len(modes), 0, 0)


def test_a_fault_is_found_and_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    program, mode = program_of(_CHOICE, 0.3, -0.8, 1.1), Mode("", "grad", "")
    assert check_program(program, 0, modes=[mode]) is None
    monkeypatch.setitem(programs.TAPE, "cond", lambda predicate, true, false, x: false(x))
    finding = check_program(program, 0, modes=[mode])
    assert finding is not None
    smaller = shrink(finding, tries=8).program.text
    assert "cond(" in smaller
    assert "np.arctan" not in smaller
    exec(script(finding), {})  # it runs by itself


def test_a_result_that_is_not_finite_is_found() -> None:
    program = program_of("def f(x):\n    return np.sum(np.where(x > 0.0, np.log(x), x))\n", 0.3, -0.8)
    dropped = dataclasses.replace(program, text=program.text.replace(", np.log(x), x", ", x, np.log(x)"))
    assert check_program(program, 0, modes=[Mode("", "grad", "")]) is None
    assert not np.isfinite(Oracle(dropped).value(0))

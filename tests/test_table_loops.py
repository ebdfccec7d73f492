"""Loops over tables inside of test cases: helpers/table_loops.py."""

import re
from types import SimpleNamespace

import pytest

import tapegrad as tg
from helpers import case_times, table_loops
from helpers import daily as selection
from helpers.daily import daily
from helpers.table_loops import grouped

OPS = pytest.mark.parametrize("op", ["add", "exp"])
NUMBERS = pytest.mark.parametrize(("k", "dtype"), [(1, float), pytest.param(2, int, id="two"), (3, None)])


def cases_of(test):
    """Return the rows of each case."""
    (table,) = [mark for mark in test.pytestmark if mark.name == "parametrize"]
    return {case.id: case.values[0] for case in table.args[1]}


def rows_of(test):
    """Return the names of each case's rows."""
    return {case: [row.name for row in rows] for case, rows in cases_of(test).items()}


def run(test, case):
    """Call one case of a test."""
    test(cases_of(test)[case])


def looped(*by, rule=None, body=lambda op, k, dtype: None, **options):
    def test(op, k, dtype):
        body(op, k, dtype)

    return grouped(*by, **options)((rule or (lambda test: test))(OPS(NUMBERS(test))))


def test_rows_have_the_names_of_pytest():
    assert rows_of(looped("op")) == {
        "add": ["1-float-add", "two-add", "3-None-add"],
        "exp": ["1-float-exp", "two-exp", "3-None-exp"],
    }


def test_keys_may_be_functions_and_long_cases_are_cut():
    assert [*rows_of(looped(lambda k, op: f"{op} {k}"))] == [
        "add 1",
        "exp 1",
        "add 2",
        "exp 2",
        "add 3",
        "exp 3",
    ]
    assert rows_of(looped("op", limit=2))["exp-1"] == ["3-None-exp"]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [("daily", ["1-float-add", "two-exp", "3-None-add"]), ("rest", ["1-float-exp", "two-add", "3-None-exp"])],
)
def test_rows_are_those_of_the_selection(chosen, expected, monkeypatch):
    monkeypatch.setattr(selection, "SELECTION", chosen)
    test = looped("k", rule=daily("op"))
    assert [*rows_of(test).values()] == [[name] for name in expected]
    assert "chosen_rows" in {mark.name for mark in test.pytestmark}


def test_halves_of_two_seeds_are_the_rest(monkeypatch):
    def rows(chosen, seed="0", parts=1):
        monkeypatch.setattr(selection, "SELECTION", chosen)
        monkeypatch.setattr(selection, "PARTS", parts)
        monkeypatch.setenv(selection.SEED, seed)
        test = looped("op", rule=daily("k", "dtype"))
        is_any_chosen = "chosen_rows" in {mark.name for mark in test.pytestmark}
        return {name for names in rows_of(test).values() for name in names if is_any_chosen}

    halves = [rows("rest", seed, 2) for seed in "01"]
    assert not set.intersection(*halves)
    assert set.union(*halves) == rows("rest")
    assert rows("daily") | rows("rest") == rows("all")


def test_rows_of_dear_cases_are_left_to_the_rest(monkeypatch):
    """A daily run collects them, so that it knows which measured cases there are."""
    name = "tests/test_table_loops.py::test[exp]"
    monkeypatch.setattr(
        table_loops, "TIMES", {name: 3 * case_times.BUDGET_S, name.replace("exp", "add"): 0.5}
    )

    def made(chosen):
        monkeypatch.setattr(selection, "SELECTION", chosen)
        for module in (table_loops, selection):
            monkeypatch.setattr(module, "IS_DAILY", chosen == "daily")
        test = looped("op", rule=daily("k", "dtype"))
        (mark,) = [mark for mark in test.pytestmark if mark.name == "chosen_rows"]
        cases = [
            SimpleNamespace(get_closest_marker=lambda _: mark, callspec=SimpleNamespace(id=key))
            for key in ("add", "exp")
        ]
        return rows_of(test), [selection._is_selected(case, True) for case in cases]

    of_daily, kept = made("daily")
    assert of_daily == {"add": ["1-float-add"], "exp": ["two-exp"]}
    assert kept == [True, False]
    rows, kept = made("rest")
    assert rows == {"add": ["two-add", "3-None-add"], "exp": ["1-float-exp", "two-exp", "3-None-exp"]}
    assert kept == [True, True]


def test_all_rows_that_fail_are_named():
    def fails(op, k, dtype):
        if k > 1:
            raise {2: AssertionError("two"), 3: ValueError("three")}[k]

    message = "2 of 3 rows failed:\ntest[two-add]: AssertionError: two\ntest[3-None-add]: ValueError: three"
    with pytest.raises(AssertionError, match=re.escape(message)) as caught:
        run(looped("op", body=fails), "add")
    assert caught.value.__cause__.__traceback__ is not None


def test_a_tape_left_illegal_is_named(monkeypatch):
    def check():
        raise RuntimeError("illegal")

    message = r"3 of 3 rows failed:\ntest\[1-float-add\]: RuntimeError: illegal"
    with monkeypatch.context() as patch:
        patch.setattr(tg, "check_tape", check)
        with pytest.raises(AssertionError, match=message):
            run(looped("op"), "add")


def test_a_case_is_skipped_if_all_of_its_rows_are():
    def skips(op, k, dtype):
        if op == "add" or k == 1:
            pytest.skip("no sums")

    with pytest.raises(pytest.skip.Exception, match="no sums"):
        run(looped("op", body=skips), "add")
    run(looped("op", body=skips), "exp")


def test_marks_of_rows_are_refused():
    @pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.skip)])
    def test(x):
        """Nothing."""

    with pytest.raises(AssertionError, match="rows of a loop take no marks"):
        grouped("x")(test)


def test_fixtures_are_refused():
    @pytest.mark.parametrize("x", [1, 2])
    def test(x, tmp_path):
        """Nothing."""

    with pytest.raises(AssertionError, match=r"tmp_path.* would be shared by all rows of a case"):
        grouped("x")(test)

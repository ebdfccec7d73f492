"""Loops over tables inside of test cases: a parametrized test has one case per key, which goes through its rows.

A case of pytest costs a millisecond before anything is tested, collecting it included. A case of many rows is collected
once, tests all of them, and fails once: its message has the parameters of each row that failed.
"""

import functools
import inspect
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tapegrad as tg
from helpers.case_times import BUDGET_S, ROOT
from helpers.daily import IS_DAILY, TIMES, arguments_of, daily_rows, not_daily, selects

_ParameterSet = type(pytest.param())


@dataclass(frozen=True)
class Row:
    """The parameters of one call of a test, their texts, and the name that pytest would give the case."""

    name: str
    parameters: dict[str, Any]
    texts: dict[str, str]


def grouped(
    *by: str | Callable[..., str], limit: int = 1000
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a parametrized test: rows of the same key are one case.

    The decorator stands above those of the parameters and of the daily selection, which chooses among rows then. The
    test takes no fixtures: they would be those of the case, shared by its rows.

    Parameters
    ----------
    *by : str or callable
        The key, which is the id of the case: parameters by their names, or functions of the parameters that they name.
    limit : int, optional
        Rows of one case; further ones of its key are cases of their own, with a number. For tests that take long.
    """

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        marks: dict[str, list[pytest.Mark]] = {"parametrize": [], "daily": [], "": []}
        for mark in test.pytestmark:
            marks[mark.name if mark.name in marks else ""].append(mark)
        rows = [*_product(marks["parametrize"])]
        dear = _dear_cases(_cases(rows, by, limit), _name_of(test))
        names = {row.name for group in dear.values() for row in group}
        chosen = _selected(rows, f"{test.__module__}.{test.__name__}", marks["daily"], names)
        cases = [*_cases(chosen or rows, by, limit)]
        loop = _loop(test, {name for row in rows for name in row.parameters})
        loop.pytestmark = marks[""]
        for mark in _selection_marks(bool(chosen), bool(marks["daily"]), [*dear]):
            mark(loop)
        return pytest.mark.parametrize("rows", [pytest.param(group, id=key) for key, group in cases])(loop)

    return decorate


def _cases(
    rows: list[Row], by: tuple[str | Callable[..., str], ...], limit: int
) -> Iterator[tuple[str, list[Row]]]:
    """Yield the ids of the cases, and the rows of each."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        parts = [
            row.texts[key] if isinstance(key, str) else key(*arguments_of(key, row.parameters)) for key in by
        ]
        groups["-".join(parts)].append(row)
    for key, group in groups.items():
        for first in range(0, len(group), limit):
            yield f"{key}-{first // limit}" if len(group) > limit else key, group[first : first + limit]


def _selection_marks(is_any_chosen: bool, has_rule: bool, dear: list[str]) -> list[pytest.MarkDecorator]:
    """Return what tells the selection of cases that rows are chosen but for those of dear cases, or that none is."""
    if not has_rule:
        return []
    return [pytest.mark.chosen_rows(dear=dear)] if is_any_chosen else [not_daily] * IS_DAILY


def _selected(rows: list[Row], test: str, rules: list[pytest.Mark], dear: set[str]) -> list[Row]:
    """Return the rows that the selection has; all of them without a rule: the case is daily, or it is not.

    Dear rows are not daily; a daily run collects them, to know of their cases, and leaves these out.
    """
    if not rules:
        return rows
    in_daily = daily_rows([row.parameters for row in rows], **rules[0].kwargs)
    return [
        row
        for k, row in enumerate(rows)
        if selects(f"{test}[{row.name}]", k in in_daily and (IS_DAILY or row.name not in dear))
    ]


def _dear_cases(cases: Iterable[tuple[str, list[Row]]], test: str) -> dict[str, list[Row]]:
    """Return those of all cases of a test that exceed the budget by the row."""
    return {key: group for key, group in cases if TIMES.get(f"{test}[{key}]", 0.0) >= BUDGET_S * len(group)}


def _name_of(test: Callable[..., None]) -> str:
    """Return what pytest names the cases of a test by."""
    return f"{Path(inspect.getfile(test)).relative_to(ROOT).as_posix()}::{test.__name__}"


# --- rows --------------------------------------------------------------------------------------------------------


def _product(tables: list[pytest.Mark]) -> Iterator[Row]:
    """Yield the rows in the order of pytest: the table of the decorator next to the function is the outermost loop."""
    for parts in itertools.product(*[[*_rows(*mark.args, **mark.kwargs)] for mark in tables]):
        parameters = {name: value for part in parts for name, value in part.parameters.items()}
        texts = {name: text for part in parts for name, text in part.texts.items()}
        yield Row("-".join(part.name for part in parts), parameters, texts)


def _rows(names: str | Sequence[str], table: Sequence[Any], ids: Any = None) -> Iterator[Row]:
    """Yield the rows of one table."""
    if isinstance(names, str):
        names = [name.strip() for name in names.split(",")]
    listed = [*ids] if ids is not None and not callable(ids) else [None] * len(table)
    for number, (entry, name) in enumerate(zip(table, listed, strict=True)):
        if isinstance(entry, _ParameterSet):
            assert not entry.marks, "rows of a loop take no marks"
            name, values = entry.id or name, entry.values
        else:
            values = (entry,) if len(names) == 1 else entry
        parameters = dict(zip(names, values, strict=True))
        texts = {key: _text(value, f"{key}{number}", ids) for key, value in parameters.items()}
        if name and len(names) == 1:
            texts[names[0]] = name
        yield Row(name or "-".join(texts.values()), parameters, texts)


def _text(value: Any, otherwise: str, ids: Any) -> str:
    """Return the text of a parameter: the one that pytest chooses, or the name of an object such as an op."""
    text = ids(value) if callable(ids) else None
    if text is not None:
        return str(text)
    if value is None or isinstance(value, str | bool | int | float | complex):
        return str(value)
    return str(getattr(value, "__name__", getattr(value, "name", otherwise)))


# --- loops -------------------------------------------------------------------------------------------------------


def _loop(test: Callable[..., None], parameters: set[str]) -> Callable[[list[Row]], None]:
    """Return the test as a function of `rows`."""
    fixtures = inspect.signature(test).parameters.keys() - parameters
    assert not fixtures, f"{test.__name__}: {fixtures} would be shared by all rows of a case"

    @functools.wraps(test)
    def loop(rows: list[Row]) -> None:
        __tracebackhide__ = True
        errors, skipped = _outcomes(test, rows)
        if errors:
            texts = [f"{test.__name__}[{row.name}]: {_message(error)}" for row, error in errors]
            message = "\n".join([f"{len(errors)} of {len(rows)} rows failed:", *texts])
            raise AssertionError(message) from errors[0][1]
        if len(skipped) == len(rows):
            raise skipped[0]

    loop.__signature__ = inspect.Signature(
        [inspect.Parameter("rows", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    )
    return loop


def _message(error: BaseException) -> str:
    """Return the type and the text of an error; NumPy's begin with an empty line."""
    return f"{type(error).__name__}: {error}".replace(": \n", ": ", 1)


def _outcomes(
    test: Callable[..., None], rows: list[Row]
) -> tuple[list[tuple[Row, BaseException]], list[BaseException]]:
    """Call a test with each row; return the rows that failed with their errors, and what skipped rows have raised.

    Tapes are checked after each row, so that an illegal one is an error of the row that left it.
    """
    errors: list[tuple[Row, BaseException]] = []
    skipped: list[BaseException] = []
    for row in rows:
        try:
            test(**row.parameters)
            tg.check_tape()
        except pytest.skip.Exception as skip:
            skipped.append(skip)
        except (Exception, pytest.fail.Exception) as error:
            # One traceback is shown; others would keep the operands of all rows that failed.
            errors.append((row, error.with_traceback(None) if errors else error))
    return errors, skipped

"""The daily selection of the suite: `make test` runs it, `make test-all` the rest, too.

A table-driven test says with `daily` which of its cases are run each time. The environment variable ``TAPEGRAD_TESTS``
is ``rest`` for all other cases and whatever is drawn at random, ``half`` for a half of these, ``all`` for both, and
``daily`` by default.
"""

import os
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import settings

SELECTION = os.environ.get("TAPEGRAD_TESTS", "daily")
IS_DAILY = SELECTION == "daily"
SEED = "TAPEGRAD_TESTS_SEED"  # environment variable: the first seed of the unseeded random programs
not_daily = pytest.mark.daily(every=0)
drawn = pytest.mark.drawn  # more or other examples are drawn in the rest of the suite, which repeats the test


def daily(
    *turns: str,
    among: Callable[..., bool] | None = None,
    always: Callable[..., bool] | None = None,
    every: int = 1,
) -> pytest.MarkDecorator:
    """Mark a parametrized test: which of its cases the daily selection has.

    Parameters
    ----------
    *turns : str
        Parameters that take turns: for each combination of the other parameters one combination of these is run,
        chosen by the number of the former. Every value of each parameter is thus met, and every new row of a table.
    among : callable, optional
        Which cases are chosen from: a predicate of the parameters that it names. All of them by default.
    always : callable, optional
        Which cases are run in any case: a predicate of parameters, too.
    every : int, optional
        Of the groups of cases that `turns` makes, run one in so many, by its number.
    """
    return pytest.mark.daily(turns=turns, among=among, always=always, every=every)


def left_out(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that are not in the selection."""
    rest = _rest(items)
    if not IS_DAILY:
        rest.update(filter(_is_drawn, items))
    unchosen = [item for item in items if item.get_closest_marker("chosen_rows") is None]
    return [item for item in unchosen if not selects(item.nodeid, item not in rest)]


def selects(name: str, is_daily: bool) -> bool:
    """Return whether the selection has the case of this name, which the daily selection has or not."""
    if SELECTION == "half":
        return not is_daily and not _is_in_other_half(name)
    return {"daily": is_daily, "rest": not is_daily, "all": True}[SELECTION]


def _is_in_other_half(name: str) -> bool:
    """Return whether runs with the next seed have this case, and not those with the present one."""
    return (zlib.crc32(name.encode()) + int(os.environ[SEED])) % 2 == 1


def _is_drawn(item: pytest.Item) -> bool:
    is_property = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    return is_property or item.get_closest_marker("drawn") is not None


def _rest(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return the tests that are not in the daily selection."""
    marked: dict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("daily"):
            marked[item.nodeid.partition("[")[0]].append(item)
    return {item for cases in marked.values() for item in _not_daily(cases)}


def _not_daily(cases: list[pytest.Function]) -> Iterator[pytest.Function]:
    """Yield the cases of one test that are not in the daily selection."""
    marker = cases[0].get_closest_marker("daily")
    assert marker is not None
    rows = [case.callspec.params if hasattr(case, "callspec") else {} for case in cases]
    in_daily = daily_rows(rows, **marker.kwargs)
    yield from (case for number, case in enumerate(cases) if number not in in_daily)


def daily_rows(
    rows: list[dict[str, Any]],
    turns: tuple[str, ...] = (),
    among: Callable[..., bool] | None = None,
    always: Callable[..., bool] | None = None,
    every: int = 1,
) -> set[int]:
    """Return the numbers of the rows, parameters by their names, that the daily selection has; see `daily`."""
    chosen = {number for number, row in enumerate(rows) if always and always(*arguments_of(always, row))}
    groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        if number not in chosen and (among is None or among(*arguments_of(among, row))):
            groups[_others(row, turns)].append(number)
    return chosen.union(_taken(groups.values(), every, bool(turns)))


def _taken(groups: Iterable[list[int]], every: int, is_turn: bool) -> Iterator[int]:
    for number, group in enumerate(groups):
        if every and number % every == 0:
            yield from [group[number // every % len(group)]] if is_turn else group


def arguments_of(function: Callable[..., Any], row: dict[str, Any]) -> list[Any]:
    """Return those parameters of a row that a function names."""
    return [row[name] for name in function.__code__.co_varnames[: function.__code__.co_argcount]]


def _others(row: dict[str, Any], turns: tuple[str, ...]) -> tuple[int, ...]:
    """Return the identities of the values of all parameters that do not take turns."""
    return tuple(id(value) for name, value in row.items() if name not in turns)


# --- random examples ---------------------------------------------------------------------------------------------


def share(count: int) -> int:
    """Return how many of so many random examples to run: a quarter of them daily."""
    return -(-count // 4) if IS_DAILY else count


def examples(count: int, **options: Any) -> settings:
    """Return settings of a property: a quarter of the examples, always the same, daily; else all, drawn anew."""
    return settings(max_examples=share(count), deadline=None, derandomize=IS_DAILY, **options)


def random_seeds(first: int, count: int, step: int = 10) -> pytest.MarkDecorator:
    """Parametrize a test with `seeds` of random programs, `step` of them a case: a quarter daily; else all, and others.

    There are as many new ones as old ones. The processes of one run draw the same; a failure names them, and
    ``TAPEGRAD_TESTS_SEED`` repeats them.
    """
    starts = [*range(first, first + share(count), step)]
    if not IS_DAILY:
        new = 1_000_000 + int(os.environ.get(SEED, "0")) * 10_000 + first
        starts += range(new, new + count, step)
    cases = [pytest.param(range(k, k + step), id=f"{k}", marks=drawn) for k in starts]
    return pytest.mark.parametrize("seeds", cases)

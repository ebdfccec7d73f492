"""The daily selection of the suite: `make test` runs it, `make test-all` the rest, too.

A table-driven test says with `daily` which of its cases are run each time; a case that takes too long is not among them
(`case_times`). Of functions with many cases a run of the whole suite has a half, by the seed: two consecutive seeds
have all. The environment variable ``TAPEGRAD_TESTS`` is ``rest`` for all other cases and whatever is drawn at random,
``all`` for both, ``costly`` for those of ``tests/case_times.txt``, and ``daily`` by default. ``rest/8`` is an eighth of
a selection: eight consecutive seeds have all of it.
"""

import os
import random
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import settings

from helpers import case_times

SELECTIONS = ("daily", "rest", "all", "costly")
SELECTION, _, _parts = os.environ.get("TAPEGRAD_TESTS", "daily").partition("/")
PARTS = int(_parts or 1)
IS_DAILY = SELECTION == "daily"
# Environment variable: the seed of the parts that a run has, and of what it draws at random
SEED = "TAPEGRAD_TESTS_SEED"
MAX_WHOLE_CASES = 8  # of a function that a run of the whole suite has all cases of
NEW_SEEDS = 1_000_000  # seeds of random programs that a run draws for itself begin here
TIMES = case_times.read_times()
not_daily = pytest.mark.daily(every=0)
drawn = pytest.mark.drawn  # more or other examples are drawn in the rest of the suite, which repeats the test
anew = pytest.mark.anew  # a case of this run alone: its name has the seed


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


def check_selection() -> None:
    """Check the environment variables."""
    if SELECTION not in SELECTIONS:
        raise pytest.UsageError(
            f"TAPEGRAD_TESTS={SELECTION}: write {', '.join(SELECTIONS)}, or a part, as in rest/8"
        )
    if case_times.IS_MEASURED and (PARTS > 1 or SELECTION == "rest"):
        raise pytest.UsageError("TAPEGRAD_CASE_TIMES: write TAPEGRAD_TESTS=daily, all or costly")


def default_seed() -> int:
    """Return the seed of a run that was given none: the daily one is the same each time."""
    return 0 if IS_DAILY else random.randrange(1_000_000)


def left_out(items: list[pytest.Item], is_whole: bool) -> list[pytest.Item]:
    """Return the tests that are not in the selection, given whether all files of the suite were collected."""
    rest = _rest(items)
    if is_whole:
        rest |= _other_half([item for item in items if item not in rest])
    if not IS_DAILY:
        rest.update(filter(_is_drawn, items))
    return [item for item in items if not _is_selected(item, item not in rest)]


def _is_selected(item: pytest.Item, is_daily: bool) -> bool:
    """Return whether the selection has a case; that of a table whose rows were chosen before, unless it is dear."""
    chosen = item.get_closest_marker("chosen_rows")
    if chosen is None:
        return selects(item.nodeid, is_daily)
    return not IS_DAILY or item.callspec.id not in chosen.kwargs["dear"]


def selects(name: str, is_daily: bool) -> bool:
    """Return whether the selection has the case of this name, which the daily selection has or not."""
    is_selected = {"daily": is_daily, "rest": not is_daily, "all": True, "costly": name in TIMES}[SELECTION]
    return is_selected and _is_in_part(name, PARTS)


def _is_in_part(name: str, parts: int) -> bool:
    """Return whether the seed has this case: of so many consecutive seeds one has it."""
    return (zlib.crc32(name.encode()) + int(os.environ[SEED])) % parts == 0


def _other_half(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return those cases of functions with many that another seed has."""
    counts = Counter(case_times.function_of(item.nodeid) for item in items)
    many = [item for item in items if counts[case_times.function_of(item.nodeid)] > MAX_WHOLE_CASES]
    return {item for item in many if not _is_in_part(item.nodeid, 2)}


def _is_drawn(item: pytest.Item) -> bool:
    is_property = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    return is_property or item.get_closest_marker("drawn") is not None


def _rest(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return the tests that are not in the daily selection."""
    marked: dict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("daily"):
            marked[item.nodeid.partition("[")[0]].append(item)
    rest = {item for cases in marked.values() for item in _not_daily(cases)}
    return rest | _too_dear([item for item in items if item not in rest])


def _too_dear(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return those of the daily tests that exceed the budget of a case, or of each row that a case goes through."""
    seconds = {item.nodeid: TIMES[item.nodeid] / _row_count(item) for item in items if item.nodeid in TIMES}
    times = {name: per_row for name, per_row in seconds.items() if per_row >= case_times.BUDGET_S}
    names = case_times.over_budget({item.nodeid for item in items}, times)
    return {item for item in items if item.nodeid in names}


def _row_count(item: pytest.Item) -> int:
    """Return how many rows of a table a case goes through (`table_loops`), 1 for other cases."""
    rows = item.callspec.params.get("rows") if hasattr(item, "callspec") else None
    return max(len(rows), 1) if isinstance(rows, list) else 1


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
    starts = dict.fromkeys(range(first, first + share(count), step), (drawn,))
    if not IS_DAILY:
        new = NEW_SEEDS + int(os.environ.get(SEED, "0")) * 10_000 + first
        starts |= dict.fromkeys(range(new, new + count, step), (drawn, anew))
    cases = [pytest.param(range(k, k + step), id=f"{k}", marks=marks) for k, marks in starts.items()]
    return pytest.mark.parametrize("seeds", cases)

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
    if IS_DAILY:
        return [item for item in items if item in rest]
    if SELECTION == "all":
        return []
    others = [item for item in items if item not in rest and not _is_drawn(item)]
    if SELECTION == "half":
        others += filter(_is_in_other_half, set(items).difference(others))
    return others


def _is_in_other_half(item: pytest.Item) -> bool:
    """Return whether runs with the next seed have this case, and not those with the present one."""
    return (zlib.crc32(item.nodeid.encode()) + int(os.environ[SEED])) % 2 == 1


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
    rule = {"turns": (), "among": None, "always": None, "every": 1, **marker.kwargs}
    always, among = rule["always"], rule["among"]
    rest = [case for case in cases if always is None or not _holds(always, case)]
    groups: dict[tuple[Any, ...], list[pytest.Function]] = defaultdict(list)
    for case in rest:
        if among is None or _holds(among, case):
            groups[_others(case, rule["turns"])].append(case)
    kept = set(_taken(groups.values(), rule["every"], bool(rule["turns"])))
    yield from (case for case in rest if case not in kept)


def _taken(groups: Iterable[list[pytest.Function]], every: int, is_turn: bool) -> Iterator[pytest.Function]:
    for number, group in enumerate(groups):
        if every and number % every == 0:
            yield from [group[number // every % len(group)]] if is_turn else group


def _holds(predicate: Callable[..., bool], case: pytest.Function) -> bool:
    names = predicate.__code__.co_varnames[: predicate.__code__.co_argcount]
    return predicate(*[case.callspec.params[name] for name in names])


def _others(case: pytest.Function, turns: tuple[str, ...]) -> tuple[int, ...]:
    """Return the identities of the values of all parameters that do not take turns."""
    values = case.callspec.params if hasattr(case, "callspec") else {}
    return tuple(id(value) for name, value in values.items() if name not in turns)


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

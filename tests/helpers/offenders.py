"""Tests of the tree: one test goes through all files or names, and its failure lists the offenders."""

from collections.abc import Callable, Iterable
from typing import Any


def assert_none(check: Callable[[Any], None], cases: Iterable[Any], name: Callable[[Any], str] = str) -> None:
    """Call `check` with each case; fail once, with the message of each case that it refused."""
    refused = {name(case): error for case in cases if (error := _refusal(check, case))}
    assert not refused, "\n".join([f"{len(refused)} failed:", *(f"{k}: {v}" for k, v in refused.items())])


def _refusal(check: Callable[[Any], None], case: Any) -> str:
    try:
        check(case)
    except Exception as error:
        return f"{error}" if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
    return ""

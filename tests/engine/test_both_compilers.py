"""The translator and Numba make the same machine code of the engine's functions, as far as results tell."""

import os
import subprocess
import sys

from helpers import digests
from helpers.daily import not_daily


def digests_with(translate: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, digests.__file__],
        env={**os.environ, "TAPEGRAD_TRANSLATE": translate},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@not_daily
def test_results_are_the_same_to_the_last_bit() -> None:
    translated, by_numba = digests_with("1"), digests_with("0")
    assert len(translated) > 500
    assert [pair for pair in zip(translated, by_numba, strict=True) if pair[0] != pair[1]] == []

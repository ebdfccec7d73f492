"""A program that all processes of MPI run: ``mpiexec -n 2 python sharded_by_mpi.py FOLDER``."""

import functools
import sys
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).parents[1]))  # the folder of helpers

import tapegrad as tg
from helpers.worker_functions import logistic, missing_file, part_from

PARTS = [functools.partial(part_from, seed, 20 + seed % 2) for seed in range(9)]


def run(folder: Path) -> None:
    """Compare with threads, on the way through errors and a file of evaluations."""
    everybody = MPI.COMM_WORLD
    here = tg.optimize.minimize(tg.optimize.sharded(logistic, PARTS), np.zeros(3))
    there = tg.optimize.minimize(tg.optimize.sharded(logistic, PARTS, everybody), np.zeros(3))
    np.testing.assert_array_equal(there.x, here.x)
    for expected_calls in (True, False):
        asked = 0

        def part(seed: int) -> object:
            nonlocal asked
            asked += 1
            return PARTS[seed]()

        parts = [functools.partial(part, seed) for seed in range(9)]
        with tg.optimize.sharded(logistic, parts, everybody, checkpoint=folder / "fit", keep=0) as f:
            np.testing.assert_array_equal(tg.optimize.minimize(f, np.zeros(3)).x, here.x)
            np.testing.assert_array_equal(
                f.hessian(here.x), tg.optimize.sharded(logistic, PARTS).hessian(here.x)
            )
        assert (asked > 2 * 9) == expected_calls
    with (
        tg.optimize.sharded(logistic, PARTS[:-1], everybody, checkpoint=folder / "fit") as f,
        pytest.raises(ValueError, match="comes out differently"),
    ):
        f.grad(np.zeros(3))
    failing = tg.optimize.sharded(logistic, [functools.partial(missing_file, k) for k in range(5)], everybody)
    for _ in range(2):
        with pytest.raises(FileNotFoundError, match=r"in part 3 of 5 \(missing_file\(3\)\)"):
            failing(np.zeros(3))
    sys.stdout.write("as by threads\n")


run(Path(sys.argv[1]))

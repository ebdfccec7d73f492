"""Regions laid into a buffer of zeros, against NumPy's strided views."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from helpers.daily import daily
from helpers.kernel_frames import DTYPES, add_or_store, at, both_dtypes, rng, run
from helpers.table_loops import grouped
from tapegrad.engine.kernels.indexing import embed
from tapegrad.ops import params
from tapegrad.ops.structural.indexing import EmbedParams

SIZE = 40


@dataclass
class Region:
    """A region of the result: offset and strides in elements, and the strides of the operand if not packed."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    operand: tuple[int, ...] | None = None

    def packed(self):
        return tuple(int(np.prod(self.shape[d + 1 :])) for d in range(len(self.shape)))

    def own(self):
        return self.packed() if self.operand is None else self.operand

    def elements(self):
        """Elements that the operand has."""
        return 1 + sum((e - 1) * abs(s) for e, s in zip(self.shape, self.own(), strict=True))

    def of(self, buffer):
        item = buffer.itemsize
        return as_strided(buffer[self.offset :], self.shape, [s * item for s in self.strides])

    def seen(self, operand):
        return as_strided(operand, self.shape, [s * operand.itemsize for s in self.own()])

    def in_bytes(self, item):
        strides, own = (tuple(s * item for s in steps) for steps in (self.strides, self.own()))
        return params.Region(self.offset * item, self.shape, strides, own)


PART, TAIL, ALL = Region(3, (20,), (1,)), Region(30, (10,), (1,)), Region(0, (SIZE,), (1,))
SPREAD, SCALAR, EMPTY = Region(1, (13,), (3,)), Region(7, (), ()), Region(5, (0,), (1,))
REVERSED, MATRIX = Region(19, (20,), (-1,)), Region(2, (4, 5), (9, 1))
CASES = {
    "block": [PART],
    "block and overlapping": [PART, Region(4, (20,), (1,)), SPREAD],
    "whole twice": [ALL, ALL],
    "two blocks": [PART, TAIL],
    "spread first": [SPREAD, PART],
    "scalar": [SCALAR, SCALAR],
    "empty": [EMPTY, PART],
    "reversed": [REVERSED],
    "matrix": [MATRIX, Region(0, (5, 4), (1, 9))],
    "three dimensions": [Region(1, (2, 3, 4), (18, 5, 1)), Region(0, (2, 2, 5), (20, 10, 2), (1, 4, 8))],
    "several on one element": [Region(3, (4, 5), (0, 2))],
    "one for several": [Region(3, (20,), (1,), (0,)), Region(2, (4, 5), (9, 1), (1, 0))],
    "matrix for rows": [Region(2, (4, 5), (9, 1), (0, 1))],
}
cases = pytest.mark.parametrize("regions", CASES.values(), ids=CASES)


def params_of(regions, item):
    return EmbedParams(SIZE, tuple(region.in_bytes(item) for region in regions))


@grouped("regions")
@cases
@both_dtypes
@pytest.mark.parametrize("absent", [None, 0, 1])
def test_embed_is_the_sum_of_the_regions(dtype, regions, absent):
    operands = [rng().standard_normal(r.elements()).astype(DTYPES[dtype]) for r in regions]
    y, expected = np.full(SIZE, np.nan, DTYPES[dtype]), np.zeros(SIZE)
    for j, region in enumerate(regions):
        if j != absent:
            np.add.at(expected, region.of(np.arange(SIZE)), region.seen(operands[j]))
    x = [None if j == absent else operand for j, operand in enumerate(operands)]
    assert run(embed, f"embed_forward_{dtype}", x=x, y=y, params=params_of(regions, y.itemsize)) == 0
    np.testing.assert_allclose(y, expected, rtol=1e-6, atol=1e-6)


@both_dtypes
def test_operand_at_the_result_is_absent(dtype):
    y = np.full(SIZE, np.nan, DTYPES[dtype])
    assert run(embed, f"embed_forward_{dtype}", x=[y], y=y, params=params_of([PART], y.itemsize)) == 0
    assert (y == 0).all()


@grouped("regions")
@daily("store")
@cases
@both_dtypes
@add_or_store
@pytest.mark.parametrize("absent", [None, 0, 1])
def test_embed_reverse_takes_the_regions(dtype, regions, store, absent):
    y_bar = rng().standard_normal(SIZE).astype(DTYPES[dtype])
    old = [np.full(r.elements(), np.nan if store else 3.0, DTYPES[dtype]) for r in regions]
    bars, expected = [x.copy() for x in old], [x.astype(float) for x in old]
    for j, region in enumerate(regions):
        if j != absent:
            places = region.seen(np.arange(region.elements()))
            if store:
                expected[j][places] = 0.0
            np.add.at(expected[j], places, region.of(y_bar))
    x_bar = [None if j == absent else bar for j, bar in enumerate(bars)]
    fields = {"store": 7 * store, "params": params_of(regions, y_bar.itemsize)}
    assert at(y_bar)
    assert run(embed, f"embed_reverse_{dtype}", x_bar=x_bar, y_bar=y_bar, **fields) == 0
    for bar, value in zip(bars, expected, strict=True):
        np.testing.assert_allclose(bar, value, rtol=1e-6, atol=1e-6)

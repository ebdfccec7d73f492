"""Unchanging lists of row numbers are checked once; all others at each replay."""

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.program.fusion.checked_lists import unchanging_lists

X = np.linspace(0.5, 1.5, 64)


def read_only(array):
    array.flags.writeable = False
    return array


def checks(f):
    return [segment for segment in f.tape(X).segments if "check" in str(segment)]


def test_lists_known_to_nobody_else_are_unchanging():
    held = read_only(np.arange(3))
    owners = [
        read_only(np.arange(5)),
        np.arange(5),
        held,
        read_only(np.arange(5)[1:]),
        read_only(np.arange(5.0)),
        None,
    ]
    assert list(unchanging_lists(owners)) == [owners[0].ctypes.data]
    del held
    assert len(unchanging_lists(owners)) == 2


def test_entries_of_a_sparse_hessian_are_listed_once():
    def chain(x):
        return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    function = tg.jit(chain, fuse=True)
    values = tg.hessian(function, sparse=True).values
    hessian = tg.hessian(function)
    for x in (X, X - 1):
        dense = hessian(x)
        np.testing.assert_allclose(values(x), dense[dense != 0], rtol=1e-13)
    assert "gather" in str(values.recorded.tape(X))
    assert not checks(values.recorded)


def test_a_list_that_can_change_is_checked():
    listed = np.array([1, 2, 5, 60] * 8)
    taken = tg.jit(lambda x, rows: tg.sin(x[rows]) * 2, fuse=True)
    taken(X, listed)
    with pytest.raises(IndexError, match="does not exist"):
        taken(X, listed + 5)
    closed_over = tg.jit(lambda x: tg.sin(x[listed]) * 2, fuse=True)
    closed_over(X)
    assert checks(closed_over)
    listed[0] = 1000
    with pytest.raises(IndexError):
        closed_over(X)

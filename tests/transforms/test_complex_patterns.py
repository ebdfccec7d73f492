"""Sparse derivatives of real functions with complex numbers inside: entries, patterns, shared columns of dense ones."""

import numpy as np
import pytest
import scipy.sparse

import tapegrad as tg
from helpers.complex_programs import COMPLEX, Z

X = np.array([0.7, -1.2, 0.4, 2.0, -0.3, 1.5])
C = np.array([1 - 2j, 0.5j, 2.0, -1j, 1 + 1j, 0.3])
M = np.diag(C) + np.diag(C[1:], 1)


def _z(x):
    return x * np.exp(1j * x)


def _written(x):
    """Write complex numbers, and parts of them, in place."""
    y = _z(x) * 1
    y[2:4] = y[:2]
    y.real[0] = x[5]
    y.imag[4:] = x[:2] ** 2
    return y.imag + y.real


_same = tg.custom_op("same", lambda z: z * 1, lambda y_bar, y, z: y_bar, lambda z_dots, y, z: z_dots[0])


def _neighbours(x):
    z = _z(x)
    return abs(z[1:] * z[:-1] - C[1:]) ** 2


# A function, and the number of entries of its pattern
FUNCTIONS = {
    "modulus": (lambda x: abs(_z(x)) ** 2, 6),
    "neighbours": (_neighbours, 10),
    "view of floats": (lambda x: (_z(x) / np.conj(_z(x))).view(float), 12),
    "floats as complex": (lambda x: (x[1:5].view(complex) ** 2).imag, 4),
    "floats from an odd place": (lambda x: np.exp(x[1:5] * 2).view(complex).view(float)[1:] ** 2, 3),
    "real matrix": (lambda x: tg.reshape(_z(x)[:, None] * x[None, :2], -1).real, 22),
    "gathered": (lambda x: _z(x)[[0, 0, 3]].real * _z(x)[::2].imag, 5),
    "joined": (lambda x: tg.concatenate([_z(x), np.conj(_z(x))[::-1]]).imag, 12),
    "stacked": (lambda x: tg.stack([_z(x), 1j * x], 1).view(float).reshape(-1), 24),
    "sums": (lambda x: tg.sum(_z(x).reshape(2, 3), 0).real * x[:3], 6),
    "means": (lambda x: abs(tg.mean(_z(x).reshape(3, 2), axis=1)), 6),
    "products": (lambda x: tg.prod(_z(x).reshape(3, 2), axis=1).imag, 6),
    "selected": (lambda x: tg.where(x > 0, _z(x), _z(x[::-1])).imag, 12),
    "written": (_written, 9),
    "matrix": (lambda x: (np.diag(np.ones(6)) @ _z(x)).real, 36),
    "transform": (lambda x: tg.fft.fft(_z(x).reshape(2, 3), axis=0).real.reshape(-1), 12),
    "spectrum": (lambda x: abs(tg.fft.rfft(x.reshape(3, 2))).reshape(-1), 12),
    "custom op": (lambda x: _same(_z(x)).real, 36),
    "linear": (lambda x: (2 * (x[1:] + 1j * x[:-1]) - C[1:]).imag, 5),
    "parts apart": (lambda x: (tg.where(C.real > 0, np.conj(x.astype(complex)), 1j) + x[::-1]).imag, 0),
    "constant": (lambda x: tg.concatenate([(x * 1j).imag + x[::-1], x]), 18),
    "0-d": (lambda x: abs(_z(x)[3]), 1),
    "empty": (lambda x: _z(x)[:0].real, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobians(name):
    function, entries = FUNCTIONS[name]
    for mode in ("auto", "forward", "reverse"):
        sparse = tg.jacobian(function, mode=mode, sparse=True)
        for x in (X, X[::-1] + 0.1, X):
            found, expected = sparse(x), tg.jacrev(function)(x)
            np.testing.assert_allclose(
                found.toarray().reshape(expected.shape), expected, rtol=1e-12, atol=1e-14
            )
        assert found.nnz == entries


@pytest.mark.parametrize("name", COMPLEX)
def test_jacobians_of_parts_by_parts(name):
    def function(pairs):
        return COMPLEX[name](pairs.view(complex)).view(float)

    pairs = Z.view(float)
    found = tg.jacobian(function, sparse=True)(pairs)
    np.testing.assert_allclose(found.toarray(), tg.jacrev(function)(pairs), rtol=1e-13, atol=1e-14)
    assert found.nnz < 36


@pytest.mark.parametrize("name", FUNCTIONS)
def test_columns_that_share_tangents_have_the_same_bits(name):
    function = FUNCTIONS[name][0]
    columns = [tg.jvp(function, (X,), (unit,))[1] for unit in np.eye(6)]
    np.testing.assert_array_equal(tg.jacfwd(function)(X), np.stack(columns, -1))


@pytest.mark.parametrize(
    "name", ["modulus", "neighbours", "gathered", "sums", "selected", "written", "transform", "linear"]
)
def test_hessians(name):
    def loss(x):
        return tg.sum(FUNCTIONS[name][0](x) ** 2)

    sparse, dense = tg.hessian(loss, sparse=True), tg.hessian(loss)
    for x in (X, X[::-1] + 0.1, X):
        found, expected = sparse(x), dense(x)
        np.testing.assert_allclose(found.toarray(), expected, rtol=1e-11, atol=1e-12)


def _power_flow(buses):
    """Return the mismatch of a ring of buses, by angles and magnitudes of their voltages."""
    rng = np.random.default_rng(2)
    of_lines = 1 / (0.01 + 0.1j * rng.random(buses))
    numbers = np.arange(buses)
    lines = scipy.sparse.csr_array((np.ones(buses), (numbers, numbers)), (buses, buses))
    lines = lines - scipy.sparse.csr_array((np.ones(buses), (numbers, (numbers + 1) % buses)), (buses, buses))
    admittances = (lines.T * of_lines) @ lines

    def mismatch(x):
        v = x[buses:] * np.exp(1j * x[:buses])
        s = v * np.conj(admittances @ v)
        return tg.concatenate([s.real, s.imag])

    return mismatch, np.concatenate([rng.normal(size=buses) / 10, 1 + rng.normal(size=buses) / 20])


def test_power_flow():
    """A bus and its two neighbours: six columns a row, in a few tangents whatever the number of buses."""
    for buses in (20, 100):
        mismatch, x = _power_flow(buses)
        sparse = tg.jacobian(mismatch, sparse=True)
        found = sparse(x)
        np.testing.assert_allclose(found.toarray(), tg.jacrev(mismatch)(x), rtol=1e-11, atol=1e-11)
        assert found.nnz == 12 * buses
        assert sparse.pattern(x).colors.max() < 12
    over = tg.vmap(sparse.values)(np.stack([x, x + 0.01]))
    np.testing.assert_allclose(over, [sparse.values(x), sparse.values(x + 0.01)], rtol=1e-13)
    compiled = tg.compile(sparse.values, x)
    np.testing.assert_array_equal(compiled(x), sparse.values(x))
    given = tg.jacobian(mismatch, sparse=True, pattern=sparse.pattern(x))
    np.testing.assert_array_equal(given(x).toarray(), found.toarray())


def test_single_precision():
    function = FUNCTIONS["neighbours"][0]
    found = tg.jacobian(lambda x: function(x).astype(np.float32), sparse=True)(X.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.toarray(), tg.jacrev(function)(X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("transform", [tg.jacobian, tg.hessian])
def test_complex_arguments_and_results_say_what_to_write(transform):
    with pytest.raises(TypeError, match=r"argument is complex128.*differentiate by z.view\(float\)"):
        transform(lambda z: tg.sum(abs(z)), sparse=True)(C)
    with pytest.raises(TypeError, match=r"the result is complex128; take `.real`"):
        transform(lambda x: tg.sum(x * 1j), sparse=True)(X)

"""Distributions of vectors against SciPy."""

import numpy as np
import pytest
import scipy.stats

import tapegrad as tg

ALPHA = np.array([0.7, 2.0, 3.5])
SHARES = np.array([[0.2, 0.1, 0.6], [0.3, 0.4, 0.25], [0.5, 0.5, 0.15]])


def test_dirichlet():
    found = tg.stats.dirichlet.logpdf(SHARES, ALPHA)
    np.testing.assert_allclose(found.data, scipy.stats.dirichlet.logpdf(SHARES, ALPHA), rtol=1e-13)
    np.testing.assert_allclose(tg.stats.dirichlet.logpdf(SHARES[:-1], ALPHA).data, found.data, rtol=1e-13)
    for k in range(3):
        one = scipy.stats.dirichlet.pdf(SHARES[:, k], ALPHA)
        assert tg.stats.dirichlet.pdf(SHARES[:, k], ALPHA).data == pytest.approx(one, rel=1e-13)


def test_derivatives_of_dirichlet():
    def total(alpha):
        return tg.sum(tg.stats.dirichlet.logpdf(SHARES, alpha))

    steps = 1e-6 * np.eye(3)
    ends = [[scipy.stats.dirichlet.logpdf(SHARES, ALPHA + s * step).sum() for step in steps] for s in (1, -1)]
    expected = (np.array(ends[0]) - ends[1]) / 2e-6
    np.testing.assert_allclose(tg.grad(total)(ALPHA), expected, rtol=1e-7)
    np.testing.assert_allclose(tg.grad(tg.jit(total))(ALPHA), expected, rtol=1e-7)
    assert tg.check_grads(lambda x: tg.stats.dirichlet.logpdf(x, ALPHA), SHARES[:-1]) is None
    assert tg.check_grads(total, ALPHA) is None


def test_what_is_no_vector_of_shares():
    x, alpha = tg.tensor([[1.2, 0.2], [-0.2, 0.2]]), tg.tensor([2.0, 3.0])
    y = tg.stats.dirichlet.logpdf(x, alpha)
    assert np.isneginf(y.data).all()
    y.backward()
    assert not x.grad.any()
    assert not alpha.grad.any()
    assert np.isnan(tg.stats.dirichlet.logpdf([0.5, 0.5], [0.0, 1.0]).data)
    with pytest.raises(ValueError, match=r"\(4,\) and \(2,\)"):
        tg.stats.dirichlet.logpdf(np.ones(4), [1.0, 2.0])
    with pytest.raises(ValueError, match="one-dimensional"):
        tg.stats.dirichlet.logpdf([0.5], [[1.0]])


def test_multinomial():
    x, n, p = np.array([[1, 2, 3], [0, 0, 6], [1, 1, 1]]), 6, np.array([0.2, 0.3, 0.5])
    found = tg.stats.multinomial.logpmf(x, n, p).data
    np.testing.assert_allclose(found, scipy.stats.multinomial.logpmf(x, n, p), rtol=1e-13)
    np.testing.assert_allclose(
        tg.stats.multinomial.pmf(x, [6, 6, 3], p).data,
        scipy.stats.multinomial.pmf(x, [6, 6, 3], p),
        rtol=1e-13,
    )
    gradient = tg.grad(tg.jit(lambda p: tg.sum(tg.stats.multinomial.logpmf(x[:2], n, p))))(p)
    np.testing.assert_allclose(gradient, x[:2].sum(0) / p, rtol=1e-13)
    for wrong in ([1.5, -0.5], [0.5, 0.6]):
        assert np.isnan(tg.stats.multinomial.logpmf([1, 1], 2, wrong).data)
    assert np.isneginf(tg.stats.multinomial.logpmf([0.5, 1.5], 2, [0.5, 0.5]).data)


def test_shares_in_float32_sum_to_1_up_to_their_roundings():
    rng = np.random.default_rng(0)
    for _ in range(20):
        shares = rng.dirichlet(np.ones(50)).astype(np.float32)
        assert np.isfinite(tg.stats.dirichlet.logpdf(shares, np.ones(50, np.float32)).data)
        assert np.isfinite(tg.stats.multinomial.logpmf(np.ones(50, np.float32), 50, shares).data)


def test_nan_among_shares_is_nan():
    for logpdf in (tg.stats.dirichlet.logpdf, tg.jit(tg.stats.dirichlet.logpdf)):
        assert np.isnan(logpdf(np.array([0.5, np.nan]), np.ones(2)))
    for logpmf in (tg.stats.multinomial.logpmf, tg.jit(tg.stats.multinomial.logpmf)):
        assert np.isnan(logpmf(np.ones(2), np.array(2.0), np.array([0.5, np.nan])))

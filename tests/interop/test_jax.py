"""`tg.interop.jax`: functions in JAX's programs, by XLA's foreign function interface and by callback."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg

jax = pytest.importorskip("jax")

from tapegrad.interop import jax as made_for_jax  # noqa: E402  after it is known that JAX is there
from tapegrad.interop.frameworks import jax_ffi  # noqa: E402

A = np.random.default_rng(0).normal(size=(4, 4))


def f(x: Any) -> Any:
    return -0.5 * tg.sum((A @ x) ** 2) + tg.sum(tg.sin(x))


@pytest.fixture(params=["direct", "callback"])
def made(request: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A maker of functions for JAX, by each of both kinds of call."""
    if request.param == "callback":
        monkeypatch.setattr(jax_ffi, "registered", lambda package: False)
    elif not jax_ffi.registered(jax):
        pytest.skip("another version of the foreign function interface")
    return made_for_jax


@pytest.fixture(params=[False, True], ids=["float32", "float64"])
def dtype(request: Any) -> Any:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", request.param)
    yield np.float64 if request.param else np.float32
    jax.config.update("jax_enable_x64", before)


def test_values_gradients_and_batches(made: Any, dtype: Any) -> None:
    of_jax = made(f, np.zeros(4))
    x = np.linspace(-1, 1, 12).reshape(3, 4).astype(dtype)
    rtol = 1e-12 if dtype == np.float64 else 1e-5
    value, gradient = tg.value_and_grad(f)(x[0].astype(float))
    for transform in (lambda g: g, jax.jit):
        found = transform(of_jax)(x[0])
        assert found.dtype == dtype
        np.testing.assert_allclose(found, value, rtol=rtol)
        np.testing.assert_allclose(transform(jax.grad(of_jax))(x[0]), gradient, rtol=rtol)
        expected = tg.vmap(tg.value_and_grad(f))(x.astype(float))
        mapped = transform(jax.vmap(jax.value_and_grad(of_jax)))(x)
        for one, other in zip(mapped, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=rtol)
    loop = jax.jit(lambda x: jax.lax.fori_loop(0, 50, lambda _, x: x + 0.01 * jax.grad(of_jax)(x), x))
    wanted = x[0].astype(float)
    for _ in range(50):
        wanted = wanted + 0.01 * tg.grad(f)(wanted)
    np.testing.assert_allclose(loop(x[0]), wanted, rtol=10 * rtol)


def test_batches_of_batches_and_of_none(made: Any) -> None:
    of_jax = made(f, np.zeros(4))
    x = np.random.default_rng(1).normal(size=(2, 3, 4)).astype(np.float32)
    found = jax.vmap(jax.vmap(of_jax))(x)
    np.testing.assert_allclose(found, tg.vmap(tg.vmap(f))(x.astype(float)), rtol=1e-5)
    assert jax.vmap(of_jax)(x[0, :0]).shape == (0,)


@pytest.mark.parametrize("shape", [(), (3,), (5,), (1, 4)])
def test_vectors_of_other_sizes_are_refused(made: Any, shape: tuple[int, ...]) -> None:
    """Compiled code would read and write beyond them."""
    of_jax = made(f, np.zeros(4))
    for function in (of_jax, jax.jit(of_jax), jax.grad(of_jax)):
        with pytest.raises(ValueError, match=r"a vector of shape .*, but x0 has 4 elements"):
            function(np.zeros(shape, np.float32))
    with pytest.raises(ValueError, match=r"a vector of shape .*, but x0 has 4 elements"):
        jax.vmap(of_jax)(np.zeros((2, *shape), np.float32))


def test_complex_numbers_are_pairs(made: Any) -> None:
    z = np.array([1 + 2j, -1j])
    of_jax = made(lambda z: tg.sum(abs(z) ** 2), z)
    np.testing.assert_allclose(jax.grad(of_jax)(np.array([1.0, 2.0, 0.0, -1.0])), [2, 4, 0, -2], rtol=1e-6)
    with pytest.raises(TypeError, match=r"a vector of complex64, .* pairs"):
        of_jax(jax.numpy.asarray(z, "complex64"))
    with pytest.raises(ValueError, match="4 elements, two for each complex number"):
        of_jax(np.zeros(2))


def test_a_branch_that_no_example_took_is_an_error(made: Any) -> None:
    def branched(x: Any) -> Any:
        return tg.sum(x) if x[0] > 0 else -tg.sum(x)

    of_jax = made(branched, np.ones(2))
    assert float(of_jax(np.ones(2, np.float32))) == 2.0
    with pytest.raises(Exception, match="branch"):
        jax.block_until_ready(of_jax(-np.ones(2, np.float32)))
    both = made(branched, np.ones(2), ways=[-np.ones(2)])
    assert float(both(-np.ones(2, np.float32))) == 2.0


def test_functions_live_as_long_as_executables() -> None:
    if not jax_ffi.registered(jax):
        pytest.skip("another version of the foreign function interface")
    compiled = [jax.jit(tg.interop.jax(lambda x, k=k: k * tg.sum(x), np.zeros(2))) for k in range(5)]
    found = [g(np.ones(2, np.float32)) for g in compiled for _ in range(3)]
    np.testing.assert_allclose(found, np.repeat(2.0 * np.arange(5), 3))


def test_an_executable_of_another_process_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    if not jax_ffi.registered(jax):
        pytest.skip("another version of the foreign function interface")
    monkeypatch.setattr(jax_ffi, "_TOKEN", 12345)  # what another process would have passed
    of_jax = tg.interop.jax(f, np.zeros(4))
    with pytest.raises(Exception, match="is of another process, from JAX's cache on disk"):
        jax.block_until_ready(of_jax(np.ones(4, np.float32)))


def test_blackjax_samples() -> None:
    blackjax = pytest.importorskip("blackjax")
    log_density = tg.interop.jax(lambda x: -0.5 * tg.sum((x - 1) ** 2), np.zeros(2))
    kernel = blackjax.nuts(log_density, 0.5, np.ones(2))
    step = jax.jit(kernel.step)
    state, draws = kernel.init(jax.numpy.zeros(2)), []
    for key in jax.random.split(jax.random.key(0), 1_000):
        state, _ = step(key, state)
        draws.append(state.position)
    np.testing.assert_allclose(np.mean(draws[100:], axis=0), [1, 1], atol=0.15)
    np.testing.assert_allclose(np.std(draws[100:], axis=0), [1, 1], atol=0.15)


def test_numpyro_samples() -> None:
    pytest.importorskip("numpyro")
    from numpyro.infer import MCMC, NUTS  # noqa: PLC0415  if it is there

    log_density = tg.interop.jax(lambda x: -0.5 * tg.sum((x - 1) ** 2), np.zeros(2))
    sampler = MCMC(
        NUTS(potential_fn=lambda x: -log_density(x)), num_warmup=200, num_samples=800, progress_bar=False
    )
    sampler.run(jax.random.key(1), init_params=jax.numpy.zeros(2))
    draws = sampler.get_samples()
    np.testing.assert_allclose(draws.mean(axis=0), [1, 1], atol=0.15)

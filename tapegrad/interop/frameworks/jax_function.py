"""`jax`: functions for JAX and what stands on it, such as blackjax and NumPyro."""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.interop.packages import Vector, needed
from tapegrad.transforms.grad import value_and_grad

_DIRECT = (np.dtype(np.float32), np.dtype(np.float64))


def jax(function: Callable[..., Any], x0: Any, *, ways: Sequence[Any] = ()) -> Callable[[Any], Any]:
    """Make a function for JAX that is computed here, with its gradient.

    Parameters
    ----------
    function : callable
        A function that returns a number, of a vector or a structure of arrays and floats.
    x0 : structure of arrays and floats
        An example of the argument. JAX has its elements in one vector, complex numbers as pairs of floats.
    ways : sequence, optional
        Further examples, one for each other outcome of its branches (see `compile`).

    Returns
    -------
    callable
        A function of a vector of JAX's, which can be differentiated once in reverse, jitted and mapped. XLA calls it in
        compiled code. With a JAX whose foreign function interface is not the version known here, or on a device that is
        no CPU, each call goes through Python instead, which costs some hundred microseconds.

    Raises
    ------
    ModuleNotFoundError
        If JAX is not installed.
    TypeError
        By the function, for a vector of complex numbers.
    ValueError
        By the function, for a vector of another size than that of the example.

    Notes
    -----
    A branch that no example took is an error of XLA's that says so. Linear algebra that fails gives nan. Executables
    that JAX keeps on disk are refused by other processes.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> log_density = tg.interop.jax(lambda x: -0.5 * tg.sum(x**2), np.zeros(2))  # doctest: +SKIP
    >>> jax.grad(log_density)(jax.numpy.ones(2))  # doctest: +SKIP
    """
    package = needed("jax", "jax")
    vector = Vector(function, x0, ways)
    compiled = vector.compiled(value_and_grad)

    def both(x: Any) -> Any:
        value, gradient = compiled(np.asarray(x, np.float64))
        return np.asarray(value, x.dtype), np.asarray(gradient, x.dtype)

    ffi = importlib.import_module("tapegrad.interop.frameworks.jax_ffi")
    direct = ffi.caller(package, compiled) if ffi.registered(package) else None

    def called(x: Any) -> Any:
        if np.dtype(x.dtype).kind == "c":
            raise TypeError(
                f"interop.jax: a vector of {x.dtype}, real numbers are needed: complex numbers of x0 are pairs of real"
                " and imaginary parts in the vector, jnp.stack([z.real, z.imag], -1).ravel()"
            )
        if x.shape != vector.x0.shape:  # compiled code would read beyond it
            pairs = ", two for each complex number" if vector.layout.has_complex else ""
            raise ValueError(
                f"interop.jax: a vector of shape {x.shape}, but x0 has {vector.x0.size} elements{pairs}"
            )
        shapes = package.ShapeDtypeStruct((), x.dtype), package.ShapeDtypeStruct(x.shape, x.dtype)
        if direct is not None and x.dtype in _DIRECT and package.default_backend() == "cpu":
            return direct(x, shapes)
        return package.pure_callback(both, shapes, x, vmap_method="sequential")

    @package.custom_vjp  # type: ignore[untyped-decorator]  # it is looked up by name
    def of_jax(x: Any) -> Any:
        return called(x)[0]

    of_jax.defvjp(called, lambda gradient, y_bar: (gradient * y_bar,))
    found: Callable[[Any], Any] = of_jax
    return found

"""A user's data are converted in one way: nothing hidden is taken as data, nothing is dropped silently."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg

V = np.array([1.0, 2.0, 0.5])
M = np.stack([V, V + 1])
optimize = tg.optimize


def squares(x: Any) -> Any:
    return tg.sum(x**2)


def parabola(t: Any, a: Any, b: Any, c: Any) -> Any:
    return a + b * t + c * t**2


@tg.custom_op("doubled_data")
def doubled(x: np.ndarray) -> np.ndarray:
    return 2 * x


KEPT: list[Any] = [None]


@tg.custom_op("handed_out")
def handed_out(x: np.ndarray) -> Any:
    return KEPT[0]


def result_of_op(data: Any) -> Any:
    KEPT[0] = data
    return handed_out(V)


def on(write: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Return a door that writes to something of a Tensor with a gradient."""

    def door(data: Any) -> None:
        x = tg.tensor(V)
        x.register_hook(lambda g: None)
        (x * x).backward()
        write(x, data)

    return door


def hook(data: Any) -> None:
    x = tg.tensor(V)
    x.register_hook(lambda g: data)
    (x * x).backward()


def fitted(**given: Any) -> Callable[[Any], Any]:
    def door(data: Any) -> Any:
        arguments: dict[str, Any] = {"t": V, "Y": M, "P0": [1.0, 1.0, 1.0], **given}
        for name, value in given.items():
            arguments[name] = value(data)
        return optimize.curve_fit(parabola, **arguments)

    return door


# By the name of a public function, and of its argument. All of them take V.
DOORS: dict[str, Callable[[Any], Any]] = {
    "tensor": tg.tensor,
    "array": tg.array,
    "asarray": tg.asarray,
    "ascontiguousarray": tg.ascontiguousarray,
    "asanyarray": tg.asanyarray,
    "asarray_chkfinite": tg.asarray_chkfinite,
    "zeros_like": tg.zeros_like,
    "full": lambda d: tg.full(3, d),
    "sin": tg.sin,
    "sum": tg.sum,
    "add": lambda d: tg.tensor(V) + d,
    "iadd": lambda d: (tg.tensor(V) * 1).__iadd__(d),
    "multiply": lambda d: tg.multiply(V, d),
    "matmul": lambda d: tg.tensor(V) @ d,
    "where": lambda d: tg.where(V > 1, d, tg.tensor(V)),
    "concatenate": lambda d: tg.concatenate([tg.tensor(V), d]),
    "interp": lambda d: tg.interp(d, np.arange(3.0), tg.tensor(V)),
    "solve": lambda d: tg.linalg.solve(np.eye(3), d),
    "cho_solve": lambda d: tg.linalg.cho_solve((np.eye(3), True), d),
    "toeplitz": tg.linalg.toeplitz,
    "gammaln": tg.special.gammaln,
    "norm.logpdf": tg.stats.norm.logpdf,
    "norm.logpdf loc": lambda d: tg.stats.norm.logpdf(V, d),
    "poisson.logpmf": lambda d: tg.stats.poisson.logpmf(d, 2.0),
    "multivariate_normal.logpdf": lambda d: tg.stats.multivariate_normal.logpdf(d, V, np.eye(3)),
    "multivariate_normal.logpdf mean": lambda d: tg.stats.multivariate_normal.logpdf(V, d, np.eye(3)),
    "backward": lambda d: (tg.tensor(V) * 2).backward(d),
    "t.data": on(lambda x, d: setattr(x, "data", d)),
    "t.grad": on(lambda x, d: setattr(x, "grad", d)),
    "t[...]": on(lambda x, d: x.__setitem__(..., d)),
    "t.fill": on(lambda x, d: x.fill(d)),
    "copyto": on(np.copyto),
    "hook": hook,
    "custom_op": doubled,
    "custom_op result": result_of_op,
    "checkpoint": tg.checkpoint(squares),
    "jit": tg.jit(squares),
    "jit further": lambda d: tg.jit(lambda x, c: tg.sum(x * c))(V, d),
    "grad": tg.grad(squares),
    "grad further": lambda d: tg.grad(lambda x, c: tg.sum(x * c))(V, d),
    "grad of jit": tg.grad(tg.jit(squares)),
    "value_and_grad": tg.value_and_grad(squares),
    "vjp": lambda d: tg.vjp(squares, d),
    "pullback": lambda d: tg.vjp(lambda x: x**2, V)[1](d),
    "pullback of jit": lambda d: tg.vjp(tg.jit(lambda x: x**2), V)[1](d),
    "jvp": lambda d: tg.jvp(squares, (d,), (V,)),
    "jvp tangent": lambda d: tg.jvp(squares, (V,), (d,)),
    "jvp tangent of jit": lambda d: tg.jvp(tg.jit(squares), (V,), (d,)),
    "jacobian": tg.jacobian(lambda x: x**2),
    "jacobian result": lambda d: tg.jacobian(lambda x: d)(V),
    "hessian": tg.hessian(squares),
    "hvp": lambda d: tg.hvp(squares)(d, V),
    "hvp v": lambda d: tg.hvp(squares)(V, d),
    "hvp v of jit": lambda d: tg.hvp(tg.jit(squares))(V, d),
    "vmap": tg.vmap(lambda x: x**2),
    "vmap further": lambda d: tg.vmap(lambda x, c: tg.sum(x * c), (0, None))(M, d),
    "compile": lambda d: tg.compile(squares, d),
    "compiled": tg.compile(squares, V),
    "check_grads": lambda d: tg.check_grads(squares, (d,)),
    "minimize x0": lambda d: optimize.minimize(squares, d),
    "minimize x0 in a dict": lambda d: optimize.minimize(lambda p: squares(p["a"]), {"a": d}),
    "minimize args": lambda d: optimize.minimize(lambda x, c: tg.sum((x - c) ** 2), V, (d,)),
    "minimize result": lambda d: optimize.minimize(lambda x: d[1], V),
    "native x0": lambda d: optimize.minimize(squares, d, method="native"),
    "native starts": lambda d: optimize.minimize(squares, None, method="native", starts=[d, d]),
    "native args": lambda d: optimize.minimize(lambda x, c: tg.sum((x - c) ** 2), V, (d,), method="native"),
    "least_squares x0": lambda d: optimize.least_squares(lambda x: x - 1, d),
    "least_squares args": lambda d: optimize.least_squares(lambda x, c: x - c, V, (d,)),
    "native bounds": lambda d: optimize.least_squares(lambda x: x, V + 5, method="native", bounds=(d, 99)),
    "native x_scale": lambda d: optimize.least_squares(lambda x: x, V, method="native", x_scale=d),
    "native result": lambda d: optimize.least_squares(lambda x: d, V, method="native"),
    "objective.fun": optimize.objective(squares, V).fun,
    "objective.hessp": lambda d: optimize.objective(squares, V).hessp(V, d),
    "objective.ravel": optimize.objective(squares, V).ravel,
    "objective.unravel": optimize.objective(squares, V).unravel,
    "residuals.fun": optimize.residuals(lambda x: x, V).fun,
    "curve_fit t": fitted(t=lambda d: d),
    "curve_fit P0": fitted(P0=lambda d: d),
    "curve_fit sigma": fitted(sigma=lambda d: d),
    "curve_fit bounds": fitted(P0=lambda d: V + 5, bounds=lambda d: (d, 99)),
    "curve_fit rows": fitted(Y=lambda d: [d, d]),
    "curve_fit row": fitted(Y=lambda d: d),
    "emcee": tg.interop.emcee(lambda x: -squares(x), V),
    "emcee x0": lambda d: tg.interop.emcee(squares, d),
    "nlopt": lambda d: tg.interop.nlopt(squares, V)(d, np.zeros(3)),
    "ode y0": lambda d: tg.interop.ode(lambda t, y: -y, 0.0, d),
    "ode y": lambda d: tg.interop.ode(lambda t, y: -y, 0.0, V)(0.0, d),
}  # fmt: skip
HONOURED = {("masked", "curve_fit row")}  # left out there
STAY = {"array", "asarray", "ascontiguousarray", "asanyarray", "asarray_chkfinite", "full", "zeros_like"}
CONSTANT = {
    "jacobian result",
    "minimize result",
    "native result",
}  # in whatever precision: the derivative is zero
# Doors of complex numbers; residuals may be complex
TAKING_COMPLEX = {
    *STAY, "tensor", "sin", "sum", "add", "multiply", "matmul", "where", "concatenate", "solve", "cho_solve", "gammaln",
    "checkpoint", "jit", "jit further", "vjp", "jvp", "vmap", "vmap further", "compile", "check_grads",
    "least_squares x0", "least_squares args", "native result", "objective.ravel", "curve_fit t", "custom_op",
    "custom_op result",
}  # fmt: skip
OWN_WORDS = {"checkpoint", "check_grads", "custom_op result"}  # the function says it, or none is a float
REFUSED: dict[str, tuple[Any, str]] = {
    "masked": (np.ma.masked_greater(V, 1.5), "masked"),
    "complex": (V + 1j, "complex"),
    "objects": (np.array([1.0, None, 2.0]), "object"),
    "text": (np.array(["1", "2", "3"]), "<U1"),
    "dates": (np.array(["2020-01-01"] * 3, "M8[D]"), "datetime64"),
    "half": (V.astype(np.float16), "float16"),
    "long": (V.astype(np.longdouble), "longdouble"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_holds_no_real_numbers_is_refused_everywhere(kind: str) -> None:
    data, word = REFUSED[kind]
    offenders = []
    for name, door in DOORS.items():
        if kind in ("objects", "text", "dates") and name in STAY:
            assert type(door(data)) is np.ndarray  # NumPy's, which no function takes
            continue
        if kind == "complex" and name in TAKING_COMPLEX:
            door(data)
            continue
        if (kind, name) in HONOURED or (kind in ("half", "long") and name in CONSTANT):
            continue
        try:
            door(data)
        except (TypeError, ValueError) as error:
            if word not in str(error) and name not in OWN_WORDS:
                offenders.append(f"{name} does not say {word}: {error}")
        else:
            offenders.append(f"{name} takes it")
    assert not offenders, "\n".join(offenders)


# There is no derivative by integers; a custom op returns what it computes with; nothing is checked of integers.
OF_ITS_DTYPE = ("astype(float)", "return arrays of float64", "nothing to check", "was compiled for")


@pytest.mark.filterwarnings("ignore::scipy.optimize.OptimizeWarning")  # three points, three parameters
@pytest.mark.parametrize(
    "data", [V, np.array([1, 2, 3]), np.ma.masked_greater(V, 9.0), np.array([1.0, 2.0, 0.5], ">f8")]
)
def test_real_numbers_are_taken_everywhere(data: Any) -> None:
    offenders = []
    for name, door in DOORS.items():
        try:
            door(data)
        except (TypeError, ValueError) as error:
            if not any(words in str(error) for words in OF_ITS_DTYPE):
                offenders.append(f"{name}: {error}")
    assert not offenders, "\n".join(offenders)


IN_LISTS = {
    "a row": [np.ma.masked_greater(V, 1.5), V],
    "a number": [[1.0, np.ma.masked, 2.0], V],
    "deep": [[V], (np.ma.masked_greater(V, 1.5),)],
}


@pytest.mark.parametrize("data", IN_LISTS.values(), ids=IN_LISTS)
@pytest.mark.parametrize("door", [tg.array, tg.tensor, tg.sum, lambda d: tg.full((2, 3), d)])
def test_masks_inside_of_lists_are_seen(door: Any, data: Any) -> None:
    """NumPy would join the contents, whatever hides them."""
    with pytest.raises(tg.UnsupportedError, match="masked"):
        door(data)


@pytest.mark.parametrize("data", [V + 1j, [1.0 + 0j, 2.0], [V, V + 1j], np.complex128(1j)])
@pytest.mark.parametrize("dtype", [float, np.float32, int, bool])
@pytest.mark.parametrize(
    "door", [tg.array, tg.tensor, tg.asarray, lambda d, dtype: tg.full((2, 3), d, dtype)]
)
def test_imaginary_parts_are_not_dropped_by_a_dtype(door: Any, dtype: Any, data: Any) -> None:
    data = data[:3] if np.shape(data) else data
    with pytest.raises((tg.UnsupportedError, ValueError), match=r"complex|broadcast"):
        door(data, dtype)

"""A refusal names the function that the program called, however deep inside of it a Tensor is asked for."""

import dis
import math
import pickle
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special
import scipy.stats
from scipy.interpolate import CubicSpline, barycentric_interpolate

import tapegrad as tg


class Holder:
    array = np.ones(2)
    functions = (np.array,)


held = Holder()
CALLS: dict[str, list[Callable[[Any], Any]]] = {
    # written in C, so that there is no frame
    "numpy.array": [
        lambda t: np.array(t),
        lambda t: np.array([t, t]),
        lambda t: np.array([[t[0], 1.0], [0.0, 1.0]]),
        lambda t: np.array(
            [t for _ in range(2)],
            dtype=float,
        ),
        lambda t: np.sum(np.array(t) + np.ones(2)),
        lambda t: eval("np.array(t)", {"np": np, "t": t}),
    ],
    "numpy.asarray": [lambda t: np.asarray(t), lambda t: abs(np.asarray(t, dtype=np.float32))],
    "numpy.float64": [lambda t: np.float64(t)],
    "numpy.arange": [lambda t: np.arange(t[0])],
    "numpy.ndarray.dot": [lambda t: held.array.dot(t)],
    "numpy.ndarray.searchsorted": [lambda t: Holder.array.searchsorted(t)],
    # written in Python
    "numpy.full": [lambda t: np.full(2, t)],
    "numpy.sum": [lambda t: np.sum([t, t]), lambda t: getattr(np, "sum")([t, t])],  # noqa: B009
    "numpy.vectorize": [lambda t: np.vectorize(abs)(t)],
    "numpy.asarray_chkfinite": [lambda t: np.asarray_chkfinite(t)],
    "numpy.r_": [lambda t: np.r_[t, 1.0], lambda t: np.r_["0,2", t, t]],
    "numpy.c_": [lambda t: np.c_[t, np.ones(2)]],
    "scipy.special.logsumexp": [lambda t: scipy.special.logsumexp(t)],
    "scipy.special.softmax": [lambda t: partial(scipy.special.softmax, axis=0)(t)],
    "scipy.linalg.expm": [lambda t: scipy.linalg.expm(t)],
    # because of what they call
    "scipy.special.pbdv": [lambda t: scipy.special.pbdv(1.0, t)],
    "scipy.special.roots_jacobi": [lambda t: scipy.special.roots_jacobi(3, t[0], t[1])],
    # asked by the protocols
    "scipy.special.kelvin": [lambda t: scipy.special.kelvin(t)],
}


@pytest.mark.parametrize(("name", "call"), [(name, call) for name, calls in CALLS.items() for call in calls])
def test_the_function_is_named(name: str, call: Callable[[Any], Any]) -> None:
    x = tg.tensor([0.5, 0.7])
    with pytest.raises(tg.UnsupportedError) as caught:
        call(x)
    assert str(caught.value).startswith(f"{name} ")
    for transform in (tg.jit(call), tg.grad(call)):
        with pytest.raises(TypeError, match=name.replace(".", r"\.")):
            transform(np.array([0.5, 0.7]))


@pytest.mark.parametrize(
    "call",
    [
        lambda t: list(map(np.asarray, [t])),
        lambda t: held.functions[0](t),
        lambda t: (lambda: np.asarray)()(t),
        lambda t: partial(np.asarray, t)(),
    ],
)
def test_calls_that_cannot_be_told_say_who_asks(call: Callable[[Any], Any]) -> None:
    with pytest.raises(tg.UnsupportedError, match=r"NumPy asks for this Tensor.*tapegrad\.array"):
        call(tg.tensor([0.5]))


def write_an_element(t: Any) -> None:
    np.zeros(3)[0] = t[0]


def write_a_list(t: Any) -> None:
    np.zeros((2, 2))[0] = [t[0], 1.0]


def write_a_part(t: Any) -> None:
    np.zeros((2, 2))[:, 0] = t


def add_to_an_element(t: Any) -> None:
    a = np.zeros(2)
    a[0] += t[0]


def add_to_an_array(t: Any) -> None:
    a = np.zeros(2)
    a += t


INSTEAD: dict[str, list[Callable[[Any], Any]]] = {
    r"tapegrad\.zeros": [
        *(write_an_element, write_a_list, write_a_part, add_to_an_element, add_to_an_array),
        lambda t: held.array.fill(t[0]),
        lambda t: held.array.put([0], t[:1]),
    ],
    r"write tapegrad\.sqrt": [lambda t: math.sqrt(t[0])],
    r"write tapegrad\.pow": [lambda t: math.pow(t[0], 2)],
    r"write tapegrad\.dot\(a, t\)": [lambda t: held.array.dot(t)],
    r"write t\.astype\(numpy\.float64\)": [lambda t: np.float64(t[0])],
    r"write t\.astype\(numpy\.int64\)": [lambda t: np.int64(t)],
    r"tapegrad\.array takes Tensors": [lambda t: np.array([t[0], 1.0])],
    r"tapegrad\.square takes Tensors": [lambda t: np.square([t[0], 1.0])],
    r"tapegrad\.vectorize takes Tensors": [lambda t: np.vectorize(abs)(t)],
    r"tapegrad\.linalg\.norm takes Tensors": [lambda t: np.linalg.norm([t[0], 1.0])],
    r"tapegrad\.polynomial for numpy\.polynomial": [lambda t: np.polynomial.polynomial.polyval(2.0, t)],
    "constant is meant$": [lambda t: t.item(0), lambda t: np.tri(t[0])],
    r"Drop float\(\)": [lambda t: float(t[0]), lambda t: float(t @ t)],
    r"write tapegrad\.interpolate\.CubicSpline": [lambda t: CubicSpline(np.arange(2.0), t)],
    r"return scipy\.interpolate\.barycentric_interpolate\(x\)": [
        lambda t: barycentric_interpolate(np.arange(2.0), t, 0.5)
    ],
    r"custom_op\(\"it2i0k0\", vjp=": [lambda t: scipy.special.it2i0k0(t)],
    "No derivative is known by this argument": [
        lambda t: np.quantile(np.ones(3), t[0]),
        lambda t: tg.percentile(np.ones(3), t[0]),
    ],
}


@pytest.mark.parametrize(("instead", "call"), [(k, call) for k, calls in INSTEAD.items() for call in calls])
def test_a_refusal_says_what_to_write(instead: str, call: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=f"(?s){instead}"):
        tg.grad(lambda t: call(t) or tg.sum(t))(np.array([0.5, 0.7]))


def test_names_are_looked_up_and_nothing_is_run() -> None:
    class Loud:
        @property
        def array(self) -> Any:
            raise AssertionError

        def __getattr__(self, name: str) -> Any:
            return np.array

    loud = Loud()
    with pytest.raises(tg.UnsupportedError, match="NumPy asks"):
        loud.make(tg.tensor([0.5]))


def test_a_refusal_that_is_caught_costs_no_look_at_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Any] = []
    disassemble = dis.get_instructions
    monkeypatch.setattr(dis, "get_instructions", lambda code: looked.append(code) or disassemble(code))
    with pytest.raises(tg.UnsupportedError) as caught:
        np.asarray(tg.tensor([0.5]))
    assert not looked
    assert "numpy.asarray asks for this Tensor" in str(caught.value)
    assert len(looked) == 1
    assert pickle.loads(pickle.dumps(caught.value)).args == (str(caught.value),)


def test_no_advice_that_would_raise_inside_a_transform() -> None:
    for call in (lambda t: np.polydiv(t, t), lambda t: scipy.special.it2i0k0(t)):
        with pytest.raises(tg.UnsupportedError) as caught:
            call(tg.tensor([0.5]))
        assert ".data" not in str(caught.value)


def test_views_take_dtypes() -> None:
    for shape, written in (((3, 1), r"\(3, \.\.\.\)"), (((3, 1),), r"\(3, 1\)")):
        with pytest.raises(tg.UnsupportedError, match=rf"takes a dtype, as in NumPy; .* t\.reshape{written}"):
            tg.tensor([1.0, 2.0, 3.0]).view(*shape)


def test_constants_are_handed_over() -> None:
    for x in (tg.tensor([1.0, 2.0], constant=True), tg.tensor([1, 2])):
        np.testing.assert_array_equal(np.array(x), [1, 2])
    with tg.no_grad():
        assert np.sum([tg.tensor(1.0), tg.tensor(2.0)]) == 3.0


@pytest.mark.parametrize(
    "call",
    [
        lambda t: scipy.linalg.cholesky(t),
        lambda t: scipy.linalg.expm(t),
        lambda t: scipy.linalg.solve_triangular(t, t),
        lambda t: scipy.linalg.eigh(t),
        lambda t: scipy.linalg.cho_factor(t),
        lambda t: scipy.linalg.inv(t),
    ],
)
def test_scipys_linear_algebra_names_ours(call: Any) -> None:
    """Also where a decorator of another module of SciPy's asks."""
    with pytest.raises(
        tg.UnsupportedError, match=r"^scipy\.linalg\.(\w+) asks .*; write tapegrad\.linalg\.\1"
    ):
        call(tg.tensor(np.eye(2)))


def test_a_program_whose_path_leads_through_the_package_is_the_users() -> None:
    """A path may have `..` in it; errors then name the line as they do otherwise."""
    path = str(Path(tg.__file__).parent / ".." / "fit.py")
    variables: dict[str, Any] = {"tg": tg, "np": np}
    exec(
        compile(
            "def bad(t):\n    return tg.sqrt(t)\ndef called(t):\n    return np.array([t, t])", path, "exec"
        ),
        variables,
    )
    with (
        tg.detect_anomaly(),
        pytest.raises(tg.AnomalyError, match=f"recorded in bad at {re.escape(path)}, line 2"),
    ):
        variables["bad"](tg.tensor(-1.0))
    with pytest.raises(TypeError, match=r"numpy\.array asks for"):
        variables["called"](tg.tensor(1.0))

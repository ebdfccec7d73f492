"""What users read: tracebacks of their own mistakes, refusals by the public name, and reprs."""

import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import tapegrad as tg

X = np.array([1.0, 2.0, 3.0])


def wrong_shape(x: Any) -> Any:
    doubled = 2.0 * x
    return tg.sum(doubled + np.ones(4))


def raising(x: Any) -> Any:
    raise LookupError("mine")


ENTRIES: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: tg.grad(f)(X),
    "grad of jit": lambda f: tg.grad(tg.jit(f))(X),
    "value_and_grad": lambda f: tg.value_and_grad(f)(X),
    "jit": lambda f: tg.jit(f)(X),
    "jacobian": lambda f: tg.jacobian(tg.jit(f))(X),
    "hessian": lambda f: tg.hessian(tg.jit(f))(X),
    "hvp": lambda f: tg.hvp(f)(X, X),
    "vjp": lambda f: tg.vjp(f, X),
    "jvp": lambda f: tg.jvp(f, (X,), (X,)),
    "vmap": lambda f: tg.vmap(f)(np.stack([X, X])),
    "compile": lambda f: tg.compile(f, X),
    "checkpoint": lambda f: tg.checkpoint(f)(tg.tensor(X)),
    "minimize": lambda f: tg.optimize.minimize(f, X),
    "least_squares": lambda f: tg.optimize.least_squares(f, X),
    "curve_fit": lambda f: tg.optimize.curve_fit(lambda t, a: f(t * a), X, X, [1.0]),
    "check_grads": lambda f: tg.check_grads(f, X),
}


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("function", [wrong_shape, raising])
def test_a_traceback_shows_the_users_frames(name: str, function: Callable[[Any], Any]) -> None:
    with pytest.raises((ValueError, LookupError)) as caught:
        ENTRIES[name](function)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert {frame.filename for frame in frames} == {__file__}
    assert frames[-1].name == function.__name__
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_frames_of_libraries_that_the_user_called_are_shown() -> None:
    with pytest.raises(TypeError) as caught:
        tg.grad(lambda p: scipy.optimize.root_scalar(lambda z: float(p[0]) * z, bracket=(-1.0, 1.0)).root)(X)
    modules = {frame.f_globals["__name__"] for frame, _ in traceback.walk_tb(caught.value.__traceback__)}
    assert modules == {__name__, "scipy.optimize._root_scalar", "scipy.optimize._zeros_py"}


def test_all_frames_are_shown_on_request() -> None:
    program = "import tapegrad as tg\ntg.grad(lambda x: x.missing)(1.0)"
    run = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "TAPEGRAD_FULL_TRACEBACK": shown},
            capture_output=True, text=True, check=False,
        ).stderr.count("  File ")
        for shown in ("", "1")
    ]  # fmt: skip
    assert run[0] == 2
    assert run[1] > 4


TAKERS: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(tg, name) for name in ("grad", "value_and_grad", "jit", "hessian", "hvp", "vmap", "checkpoint")},
    "jacobian": tg.jacobian,
    "vjp": lambda f: tg.vjp(f, X),
    "jvp": lambda f: tg.jvp(f, (X,), (X,)),
    "compile": lambda f: tg.compile(f, X),
    "check_grads": lambda f: tg.check_grads(f, X),
    "minimize": lambda f: tg.optimize.minimize(f, X),
    "least_squares": lambda f: tg.optimize.least_squares(f, X),
    "curve_fit": lambda f: tg.optimize.curve_fit(f, X, X, [1.0]),
    "objective": tg.optimize.objective,
    "residuals": tg.optimize.residuals,
}  # fmt: skip


@pytest.mark.parametrize("name", TAKERS)
def test_values_in_place_of_functions_are_refused(name: str) -> None:
    for value in (5.0, X, tg.tensor(1.0), None):
        with pytest.raises(TypeError, match=f"^{name} takes a function, but was given .*pass f itself"):
            TAKERS[name](value)


def test_a_pair_names_has_aux() -> None:
    def pair(x: Any) -> Any:
        return tg.sum(x * x), x

    for name in ("grad", "value_and_grad", "hessian", "jacobian"):
        for function in (pair, tg.jit(pair)):
            with pytest.raises(
                TypeError, match=rf"^{name} needs one .* a tuple of 2\. .*{name}\(f, has_aux=True\)"
            ):
                getattr(tg, name)(function)(X)


def test_transforms_call_themselves_by_their_names() -> None:
    for name in ("hessian", "value_and_grad", "grad"):
        with pytest.raises(ValueError, match=rf"^{name}: the function returned shape \(3,\)"):
            getattr(tg, name)(lambda x: x * 2.0)(X)
    with pytest.raises(ValueError, match=r"^hvp: the function returned"):
        tg.hvp(lambda x: x * 2.0)(X, X)


def test_transforms_are_shown_as_they_are_written() -> None:
    assert repr(tg.value_and_grad(tg.jit(wrong_shape))) == "value_and_grad(jit(wrong_shape))"
    assert repr(tg.hvp(tg.checkpoint(raising))) == "hvp(checkpoint(raising))"
    assert repr(tg.optimize.objective(wrong_shape, X)) == "objective(wrong_shape)"


def test_tapes_are_shown() -> None:
    def long(x: Any) -> Any:
        for _ in range(60):
            x = np.sin(x)
        return tg.sum(x)

    assert repr(tg.jit(np.sin).tape(X)).split("\n")[0] == "<tape of 1 instructions>"
    tape = tg.jit(long, fuse=True).tape(X)
    shown = repr(tape).split("\n")
    assert shown[0] == "<tape of 61 instructions>"
    assert shown[1:] == str(tape).split("\n")
    assert shown[31] == "... 3 more lines: tape.text has all"
    assert shown[61].startswith("outputs")
    assert shown[62] == "segments"
    assert len(tape.text.split("\n")) == 63 + len(shown[62:])
    assert set(tape.text.split("\n")) >= {*shown[1:31], *shown[32:]}


def test_fits_are_shown() -> None:
    t = np.linspace(0.0, 1.0, 8)
    fits = tg.optimize.curve_fit(lambda t, a, b: a * t + b, t, np.outer(np.arange(1.0, 11.0), t), [1.0, 0.0])
    title, first, *rest = repr(fits).split("\n")
    assert title == "<10 fits of 2 parameters, 10 converged>"
    assert first.split()[:3] == ["0", "1", "+-"]
    assert len(rest) == 8
    assert rest[-1].split() == ["...", "2", "more"]


SWALLOWING: dict[str, Callable[[Any], Any]] = {
    "brentq": lambda p: scipy.optimize.brentq(lambda z: p[0] * z - 1, 0, 10),
    "brenth": lambda p: scipy.optimize.brenth(lambda z: p[0] * z - 1, -10, 10),
}


@pytest.mark.parametrize("name", SWALLOWING)
@pytest.mark.parametrize("transform", [tg.grad, tg.jit])
def test_a_refusal_that_a_library_swallows_is_told(name: str, transform: Any) -> None:
    """SciPy's C code goes on after the error, and raises another one, or Python does."""
    with pytest.raises((TypeError, ValueError)) as caught:
        transform(SWALLOWING[name])(X)
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert "float() of a Tensor was asked for" in told
    assert f"return scipy.optimize.{name}" in told

"""After an exception, wherever it came from, the next correct call is right and the tape is legal.

Every scenario is run with an exception at a call or a line of the library, as if it had been interrupted there,
and then again without.
"""

import contextlib
import dis
import functools
import gc
import sys
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import drawn, share
from tapegrad.engine.codegen.translator.compiler import compiling
from tapegrad.engine.inspection import verify
from tapegrad.engine.tape.fields.layout import WANTED
from tapegrad.frontend.tensor import tensor
from tapegrad.frontend.tensor.modes import EAGER, NO_MODE, thread

PACKAGE = str(Path(tg.__file__).parent)
X = np.array([0.5, 1.5, -0.7])
SAMPLES = share(12)  # of the places of one scenario


class Interrupt(BaseException):
    """What is raised in the middle."""


cube = tg.custom_op(
    "cube", lambda x: x**3, vjp=lambda y_bar, y, x: 3 * x**2 * y_bar, jvp=lambda dots, y, x: 3 * x**2 * dots[0],
    differentiable=True,
)  # fmt: skip


def function(x: Any) -> Any:
    y = tg.sin(x) * x
    y[0] = x[1] * 2
    return tg.sum(tg.exp(y / 3) * np.array([1.0, 2.0, 3.0]))


def with_op(x: Any) -> Any:
    return tg.sum(cube(tg.sin(x)) * x)


def branching(x: Any) -> Any:
    return tg.sum(x**2) if x[0] > 0 else tg.sum(tg.cos(x))


def backward(f: Any, hooked: bool = False, **options: Any) -> Any:
    x = tg.tensor(X)
    y = x * 1.0
    if hooked:
        y.register_hook(lambda g: g * 1.0)
    f(y).backward(**options)
    found = np.array(getattr(x.grad, "data", x.grad))
    x.null_grad()
    return found


def inputs_of(f: Any) -> Any:
    x, y = tg.tensor(X), tg.tensor(X)
    (f(x) * tg.sum(y)).backward(inputs=[x], retain_graph=True, accumulate=False)
    return x.grad.copy(), y.grad is None


def pulled(f: Any) -> Any:
    _, pullback = tg.vjp(lambda x: (f(x), x * 2.0), X)
    return pullback((1.0, X))[0]


def with_modes(f: Any) -> Any:
    with tg.no_grad():
        f(tg.tensor(X))
    with tg.detect_anomaly():
        return backward(f)


SCENARIOS: dict[str, Callable[[], Any]] = {
    "backward": lambda: backward(function),
    "backward past an op": lambda: backward(with_op),
    "backward past a hook": lambda: backward(function, hooked=True),
    "backward to inputs": lambda: inputs_of(with_op),
    "create_graph": lambda: backward(with_op, hooked=True, create_graph=True),
    "grad": lambda: tg.grad(with_op)(X),
    "grad of grad": lambda: tg.grad(lambda x: tg.sum(tg.grad(function)(x) ** 2))(X),
    "grad of a recording": lambda: tg.grad(tg.jit(function))(X),
    "recording with an op": lambda: tg.value_and_grad(tg.jit(with_op))(X)[1],
    "ways of a recording": lambda: [tg.grad(f)(sign * X) for f in [tg.jit(branching)] for sign in (1, -1)],
    "replay": lambda: tg.value_and_grad(KNOWN)(X),
    "replay of a Hessian": lambda: tg.hessian(KNOWN)(X),
    "hessian": lambda: tg.hessian(function)(X),
    "hvp": lambda: tg.hvp(with_op)(X, X),
    "jvp": lambda: tg.jvp(function, (X,), (X,)),
    "vjp": lambda: pulled(with_op),
    "vjp of a recording": lambda: pulled(KNOWN),
    "jacobian": lambda: tg.jacobian(tg.sin)(X),
    "modes": lambda: with_modes(function),
}
KNOWN = tg.jit(with_op)


class Tracer:
    """Counts the calls and lines of the library in a run, and raises at one of them."""

    def __init__(self, at: int = -1) -> None:
        self.count, self.at = 0, at

    def __call__(self, frame: types.FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event in ("call", "line") and not _is_apart(frame) and not _leaves_with(frame):
            self.count += 1
            if self.count == self.at:
                raise Interrupt
        return self

    def run(self, scenario: Callable[[], Any]) -> Any:
        before = sys.gettrace()
        sys.settrace(self)
        try:
            return scenario()
        finally:
            sys.settrace(before)


def _is_apart(frame: types.FrameType) -> bool:
    """Whether Python would not pass on an exception, or a user's own `with` is being left, which is Python's to do."""
    if frame.f_code.co_name in ("entry", "<genexpr>"):  # what C calls, and what is closed when it is dropped
        return True
    stack = [each.f_code for each, _ in traceback.walk_stack(frame)]
    leaves_users_with = stack[0].co_name == "__exit__" and not stack[1].co_filename.startswith(PACKAGE)
    return leaves_users_with or any(code.co_name == "__del__" for code in stack)


@functools.cache
def _exits(code: types.CodeType) -> frozenset[int]:
    """Where a `with` is left without an exception: ``__exit__(None, None, None)`` is about to be called."""
    found = [(i.offset, i.opname, i.argval) for i in dis.get_instructions(code)]
    exits = set()
    for k in range(len(found) - 2):
        if all(each[1:] == ("LOAD_CONST", None) for each in found[k : k + 3]):
            swapped = k > 0 and found[k - 1][1] == "SWAP"  # a result is put aside first
            exits.add(found[k - swapped][0])
    return frozenset(exits)


def _leaves_with(frame: types.FrameType) -> bool:
    """Whether a `with` is being left: Python looks for interrupts before it, and then not until it is done."""
    return frame.f_lasti in _exits(frame.f_code)


def places(count: int) -> list[int]:
    """Some of the places, spread over all of them."""
    return sorted({1 + int(k * count / SAMPLES) for k in range(SAMPLES)})


def assert_nothing_is_left() -> None:
    assert thread.mode is NO_MODE
    assert not tensor._ENTERING._is_owned()
    assert not compiling._is_owned()
    assert not (EAGER.column("flags")[EAGER.column("bytes") >= 0] & WANTED).any()
    verify.check(EAGER)


def assert_same(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple | list):
        for a, b in zip(found, expected, strict=True):
            assert_same(a, b)
    else:
        np.testing.assert_array_equal(found, expected)


@drawn
@pytest.mark.parametrize("name", SCENARIOS)
def test_next_call_is_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify.switch, "on", False)  # the checks of each sweep are no place of the library's
    scenario = SCENARIOS[name]
    expected = scenario()
    gc.collect()
    tracer = Tracer()
    assert_same(tracer.run(scenario), expected)
    for at in places(tracer.count):
        with contextlib.suppress(Interrupt):
            Tracer(at).run(scenario)
        assert_nothing_is_left()
        assert_same(scenario(), expected)

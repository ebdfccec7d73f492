"""What is said while a first call compiles; and compilations that are not ours."""

import numba
import numpy as np
import pytest
from numba.core import event

import tapegrad as tg
from tapegrad.engine import kernel_table
from tapegrad.engine.codegen.store import cache
from tapegrad.engine.codegen.store.announcer import Announcer
from tapegrad.engine.codegen.translator import compiler
from tapegrad.engine.runtime.messages import stderr


@pytest.fixture
def nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "holds", lambda *name: False)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stderr, "on_terminal", lambda: True)


def named(name: str):
    """A function of that name."""

    def function() -> None: ...

    function.__module__, function.__qualname__ = "tapegrad.some", name
    return function


def compile_all(announcer: Announcer, names: str) -> None:
    for name in names:
        with announcer.compiling(named(name)):
            pass


def names(text: str) -> list[tuple[str, str]]:
    return [("tapegrad.some", name) for name in text]


def counts(err: str) -> list[str]:
    return [" ".join(part.split()[6:9]).strip(":") for part in err.split("\r\x1b[K") if part]


def test_a_terminal_shows_how_many_of_how_many(nothing_is_kept, terminal, capsys) -> None:
    announcer = Announcer()
    announcer.expect(names("abc"))
    compile_all(announcer, "abxc")
    announcer.expect(names("acde"))  # a and c are there already
    compile_all(announcer, "de")
    err = capsys.readouterr().err
    assert counts(err) == ["1 of 3", "2 of 3", "3 of 4", "4 of 4", "1 of 2", "2 of 2"]
    assert err.endswith("\r\x1b[K")  # the line is gone when nothing more is expected
    assert "\n" not in err


def test_elsewhere_lines_say_the_begin_and_the_end(nothing_is_kept, capsys) -> None:
    announcer = Announcer()
    announcer.expect(names("abcdefg"))
    compile_all(announcer, "abcdefg")
    begin, end = capsys.readouterr().err.splitlines()
    assert "compiling kernels on first use, 1 of 7" in begin
    assert "`tapegrad warmup`" in begin
    assert end == "tapegrad: compiled 7 functions in 0.0 s"
    compile_all(announcer, "hi")  # these take no noticeable time
    assert capsys.readouterr().err == ""


def test_the_line_waits_for_a_noticeable_time(nothing_is_kept, monkeypatch, capsys) -> None:
    announcer = Announcer()
    compile_all(announcer, "abc")
    assert capsys.readouterr().err == ""
    announcer._seconds = 2.0
    compile_all(announcer, "def")
    _, end = capsys.readouterr().err.splitlines()
    assert end == "tapegrad: compiled 4 functions in 2.0 s"


def test_what_is_in_the_cache_is_not_counted(monkeypatch, terminal, capsys) -> None:
    monkeypatch.setattr(cache, "holds", lambda module, function: function in "ab")
    announcer = Announcer()
    announcer.expect(names("abc"))
    compile_all(announcer, "abc")
    assert counts(capsys.readouterr().err) == ["1 of 1"]


def test_a_compilation_within_another_and_one_that_fails(nothing_is_kept, terminal, capsys) -> None:
    announcer = Announcer()
    with announcer.compiling(named("a")):
        compile_all(announcer, "b")
    with pytest.raises(ValueError, match="no"), announcer.compiling(named("c")):
        raise ValueError("no")
    compile_all(announcer, "d")
    assert counts(capsys.readouterr().err) == ["1 of 1"] * 3


def test_entry_points_of_a_group_are_announced_together(
    nothing_is_kept, monkeypatch, terminal, capsys
) -> None:
    monkeypatch.setattr(compiler, "announcer", Announcer())
    compiler.expect_group.__wrapped__(compiler.EVERY_RECORDING)
    compiler.announcer._expected -= {("tapegrad.engine.sweep.derivatives.bind_recording", "hold")}
    with compiler.announcer.compiling(named("a")):
        pass
    (count,) = counts(capsys.readouterr().err)
    assert count == f"1 of {len(compiler._GROUPS[compiler.EVERY_RECORDING])}"


def test_a_program_says_which_kernels_it_will_need(monkeypatch) -> None:
    x = tg.tensor(np.ones(3))
    tg.prod(x).backward()  # while recording, the eager engine looks into its own table
    expected: set[tuple[str, str]] = set()
    monkeypatch.setattr(kernel_table.announcer, "expect", expected.update)
    monkeypatch.setattr(kernel_table, "_kernels", np.zeros_like(kernel_table._kernels))
    f = tg.jit(tg.prod)
    tg.value_and_grad(tg.jit(lambda x: tg.prod(x)))(np.ones(3))
    tg.jvp(f, (np.ones(3),), (np.ones(3),))
    kernels = {f"prod_reduce_{direction}_f64" for direction in ("reverse", "tangent")}
    assert {name for _, name in expected} >= kernels


# --- compilations that are not ours --------------------------------------------------------------------


def executed(module: object):
    """A function made by `exec`, where nothing or anything says which module it is of."""
    namespace: dict[str, object] = {} if module is None else {"__name__": module}
    exec("def f(x):\n    return x + 1", namespace)
    return namespace["f"]


def wrapped():
    inner = numba.njit(executed(None))
    return lambda x: inner(x) + 0


@pytest.mark.parametrize("module", [None, "builtins", "tapegrad.frontend.tensor.tensor"])
def test_compilations_of_others_are_left_alone(module: object, capsys) -> None:
    function = executed(module)
    assert numba.njit(function)(1) == 2
    assert numba.njit(wrapped())(1) == 2
    assert numba.vectorize(["int64(int64)"])(function)(1) == 2
    assert numba.cfunc("int64(int64)")(function).ctypes(1) == 2
    assert capsys.readouterr().err == ""


def test_no_listener_is_registered() -> None:
    tg.sin(tg.tensor(1.0)).backward()
    registered = [listener for listeners in event._registered.values() for listener in listeners]
    assert not [listener for listener in registered if type(listener).__module__.startswith("tapegrad")]


def test_listeners_of_others_hear_of_everything() -> None:
    heard = []

    class Listener(event.Listener):
        def on_start(self, e: event.Event) -> None:
            heard.append(e)

        def on_end(self, e: event.Event) -> None:
            heard.append(e)

    with event.install_listener("numba:compile", Listener()):
        numba.njit(executed(None))(1)
    assert len(heard) == 2

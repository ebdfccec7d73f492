"""Ctrl-C while code is compiled: it waits, and reaches the handler that was there."""

import os
import signal
import threading

import pytest

from tapegrad.engine.codegen.ir.target import host
from tapegrad.engine.codegen.machine import machine
from tapegrad.engine.codegen.machine.interrupts import uninterrupted
from tapegrad.engine.codegen.translator import compiler
from tapegrad.engine.kernels.language.numba_internals import JITCodeLibrary, cpu_target


@pytest.fixture
def handler():
    """A handler of the user's; returns the list of its calls."""
    calls = []
    before = signal.signal(signal.SIGINT, lambda number, frame: calls.append(number))
    yield calls
    signal.signal(signal.SIGINT, before)


def interrupt():
    signal.raise_signal(signal.SIGINT)


def test_interrupts_wait_for_the_outermost_end(handler):
    own = signal.getsignal(signal.SIGINT)
    with uninterrupted:
        with uninterrupted:
            interrupt()
        assert handler == []
    assert handler == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is own


def test_pythons_handler_raises_at_the_end(handler):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    steps = []

    def compiled():
        with uninterrupted:
            interrupt()
            steps.append("compiled")

    with pytest.raises(KeyboardInterrupt):
        compiled()
    assert steps == ["compiled"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_handlers_that_are_not_ours_stay(handler):
    for other in (signal.SIG_IGN, signal.default_int_handler):
        with uninterrupted:
            signal.signal(signal.SIGINT, other)
        assert signal.getsignal(signal.SIGINT) is other
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with uninterrupted:
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        interrupt()


def test_other_threads_hold_nothing_back(handler):
    own, seen = signal.getsignal(signal.SIGINT), []

    def compile_beside():
        with uninterrupted:
            seen.append(signal.getsignal(signal.SIGINT))

    for _ in range(2):
        thread = threading.Thread(target=compile_beside)
        thread.start()
        thread.join()
    assert seen == [own, own]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded")
def test_a_child_that_another_thread_forks_holds_nothing_back(handler):
    own, codes = signal.getsignal(signal.SIGINT), []

    def fork():
        child = os.fork()
        if child == 0:
            os._exit(0 if signal.getsignal(signal.SIGINT) is own else 1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    thread = threading.Thread(target=fork)
    with uninterrupted:
        thread.start()
        thread.join()
    assert codes == [0]


def added(x: int, y: int) -> int:
    return x + y


def test_ctrl_c_in_a_callback_of_llvm_is_not_lost(handler):
    """Numba's library has the object code that LLVM hands to a function of Python's."""
    notify, find = JITCodeLibrary._object_compiled_hook, JITCodeLibrary._object_getbuffer_hook
    engine, told = cpu_target.target_context.codegen()._engine, []

    def interrupted(module, code):
        interrupt()
        told.append(module.name)
        notify(module, code)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    engine.set_object_cache(interrupted, find)
    try:
        with pytest.raises(KeyboardInterrupt):
            compiler.compile_call(added)
    finally:
        engine.set_object_cache(notify, find)
    assert told
    assert compiler.compile_call(added).address


def test_ctrl_c_while_code_is_loaded_leaves_it_known(handler, monkeypatch):
    symbol = "tapegrad.test.interrupted"
    text = f'define i64 @"{symbol}"() {{ ret i64 7 }}'
    code = machine.compile_source(machine.ModuleSource(text), host())
    found = machine._engine
    monkeypatch.setattr(machine, "_engine", lambda: (interrupt(), found())[1])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        machine.load(code, symbol)
    assert machine.address_of(symbol)

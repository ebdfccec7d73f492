"""Sessions of a compiled function, opened and closed by Python; bindings of a program over lanes."""

from tapegrad.engine.codegen.translator.compiler import entry_point
from tapegrad.engine.kernels.language.raw_memory import load_i64
from tapegrad.engine.sweep.replays.handle_calls import close_session, open_session
from tapegrad.engine.sweep.replays.lanes import PROGRAM
from tapegrad.engine.sweep.replays.replay import BINDING_WORDS, BINDINGS, place


@entry_point()
def begin(handle, addresses, session):
    """Open a session; return a status."""
    return open_session(handle, addresses, session)


@entry_point()
def lead(workspace, bindings, addresses, count):
    """Bind arrays of a program over lanes to addresses; return their number."""
    program = load_i64(workspace, PROGRAM)
    for k in range(count):
        binding = load_i64(program, BINDINGS) + 8 * BINDING_WORDS * load_i64(bindings, k)
        place(binding, load_i64(addresses, k))
    return count


@entry_point()
def end(session):
    """Close a session; return its address."""
    close_session(session)
    return session

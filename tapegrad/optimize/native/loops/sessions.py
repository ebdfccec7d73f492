"""Sessions of a compiled function, opened and closed by Python."""

from tapegrad.engine.runtime.compiler import entry_point
from tapegrad.engine.sweep.handle_calls import close_session, open_session


@entry_point()
def begin(handle, addresses, session):
    """Open a session; a status."""
    return open_session(handle, addresses, session)


@entry_point()
def end(session):
    """Close a session; its address."""
    close_session(session)
    return session

"""Loggers of the package, children of ``tapegrad``, and ``TAPEGRAD_LOG``, which has their records on stderr.

Where a record costs more than a call, its caller asks `enabled` first: a logger that is off formats and computes
nothing. Replays by compiled code never come here.
"""

import logging
import os

from tapegrad.engine.runtime.messages import stderr

RECORDINGS = logging.getLogger("tapegrad.recordings")
GUARDS = logging.getLogger("tapegrad.guards")
FUSION = logging.getLogger("tapegrad.fusion")
COMPILATION = logging.getLogger("tapegrad.compilation")
_LOGGERS = {logger.name.rpartition(".")[2]: logger for logger in (RECORDINGS, GUARDS, FUSION, COMPILATION)}
_VARIABLE = "TAPEGRAD_LOG"
_ALL, _DEBUG = "all", "debug"  # in place of a name, and beside names


def enabled(logger: logging.Logger, level: int = logging.INFO) -> bool:
    """Return whether records of a logger at a level go anywhere."""
    return logger.isEnabledFor(level)


def log(logger: logging.Logger, message: str, *args: object, level: int = logging.INFO) -> None:
    """Log a record; an error of a user's filter or handler does not stop the computation."""
    try:
        logger.log(level, message, *args, stacklevel=2)
    except Exception as error:  # whatever a handler raises
        _complaint.make(logger, error)


class _Complaint:
    """Report of the first error of a handler."""

    def __init__(self) -> None:
        self._made = False

    def make(self, logger: logging.Logger, error: Exception) -> None:
        if not self._made:
            self._made = True
            stderr.tell(f"a handler or filter of the logger {logger.name} failed: {error!r}")


_complaint = _Complaint()


class StderrHandler(logging.Handler):
    """Handler that writes records to `sys.stderr` as it is at that time, a line each."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            stderr.write_line(f"{record.name}: {' '.join(record.getMessage().split())}")
        except Exception:  # as of any handler
            self.handleError(record)


def switch_on(names: str) -> None:
    """Have the loggers of some names, separated by commas, write records to stderr; ``all`` for each of them.

    ``debug`` among the names is for records of that level too: of each kernel that is read from the cache.
    """
    chosen = [name for name in (part.strip().lower() for part in names.split(",")) if name]
    unknown = [name for name in chosen if name not in (*_LOGGERS, _ALL, _DEBUG)]
    if unknown:
        stderr.tell(
            f"{_VARIABLE}={names}: no logger {', '.join(unknown)}; there are {', '.join(_LOGGERS)}, all, and debug"
        )
    handler, level = StderrHandler(), logging.DEBUG if _DEBUG in chosen else logging.INFO
    for name, logger in _LOGGERS.items():
        if name in chosen or _ALL in chosen or chosen == [_DEBUG]:
            logger.setLevel(level)
            logger.addHandler(handler)


logging.getLogger("tapegrad").addHandler(logging.NullHandler())
switch_on(os.environ.get(_VARIABLE, ""))

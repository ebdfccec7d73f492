"""A program with its idle workspaces, in whose place a fused one is put when that pays."""

import functools
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.program.fusion.policy import PendingFusion
from tapegrad.program.programs.program import Program
from tapegrad.program.streams.spec import IF_KNOWN, NOW

AnyProgram = TypeVar("AnyProgram", bound=Program)


class PooledProgram(Uncopied, Generic[AnyProgram]):
    """Program with its idle workspaces, for all threads.

    Parameters
    ----------
    make
        Makes the program, given a fusion policy.
    make_workspace
        Makes a workspace of a program.
    fusion
        Fusion policy.

    Attributes
    ----------
    program
        The program, a fused one after fusion.
    idle
        Its idle workspaces. Taking from the list and putting back is atomic.
    pending
        Fusion policy of a program that may be fused later, else `None`.
    """

    def __init__(
        self, make: Callable[[str], AnyProgram], make_workspace: Callable[[AnyProgram], Any], fusion: str
    ) -> None:
        self.program = program = make(fusion)
        self.idle: list[Any] = []
        self.pending: PendingFusion | None = None
        if fusion == IF_KNOWN and not program.fused:
            # The functions, which may lead to the owner of this program, are kept until it is fused
            fuse = functools.partial(self._fuse, make, make_workspace)
            pending = PendingFusion((program.forward, program.reverse), fuse)
            self.pending = pending if pending.replays else None

    def _fuse(self, make: Callable[[str], AnyProgram], make_workspace: Callable[[AnyProgram], Any]) -> None:
        """Put a fused program in the place of the program."""
        fused = make(NOW)
        workspace = make_workspace(fused)
        self.program, self.pending = fused, None
        self.idle[:] = [workspace]

    def take(self, program: AnyProgram) -> Any:
        """Take an idle workspace of a program, its own or the one before it was fused; `None` if there is none."""
        try:
            while (workspace := self.idle.pop()).program is not program:
                pass  # of the program before it was fused
        except IndexError:
            return None
        return workspace

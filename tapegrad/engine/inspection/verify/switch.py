"""Switches of checks: of every tape, without which nothing else of this folder is executed, and of derivatives."""

import os

from tapegrad.engine.tape import checksums
from tapegrad.engine.tape.tape import Tape


class _Switch:
    """Switch of the checks of every tape before it is swept or made into a program.

    Attributes
    ----------
    derivatives
        Whether recordings are certified, by default (`program.certificates`): ``TAPEGRAD_CHECK=derivatives``.
    """

    def __init__(self) -> None:
        words = set(os.environ.get("TAPEGRAD_CHECK", "").split(",")) - {"", "0"}
        self.derivatives = "derivatives" in words
        self._on = bool(words - {"derivatives"})
        self._followers: list[Tape] = []

    @property
    def on(self) -> bool:
        return self._on

    @on.setter
    def on(self, on: bool) -> None:
        self._on = on
        for tape in self._followers:
            checksums.switch_checksums(tape.header, on)

    def follow(self, tape: Tape) -> None:
        """Take checksums on a tape whenever checks are switched on."""
        self._followers.append(tape)
        if self._on:
            checksums.switch_checksums(tape.header, True)


switch = _Switch()

"""Errors that end a command."""


class CommandError(Exception):
    """A command cannot do what it was asked; the text says why, and the exit code is 2."""

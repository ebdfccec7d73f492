"""Properties of the wrappers of entry points, which are known before anything is compiled."""

from typing import NamedTuple


class WrapperKind(NamedTuple):
    """Properties in which wrappers differ.

    Attributes
    ----------
    arguments
        What stands for each argument: ``i`` an integer, ``f`` a float, ``t`` a tuple of integers.
    releases_gil
        Whether the GIL is released during the call.
    returns_tuple
        Whether the function has one argument more, the address that it writes the fields of a tuple to.
    """

    arguments: str
    releases_gil: bool
    returns_tuple: bool

    @property
    def name(self) -> str:
        """Name of the wrapper."""
        return f"call_{self.arguments}_{int(self.releases_gil)}{int(self.returns_tuple)}"

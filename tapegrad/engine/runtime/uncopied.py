"""Objects that stand for memory of this process, which cannot be copied or pickled."""

from typing import Any


class Uncopied:
    """Base of objects that own memory of this process: a copy would free it twice, a pickle would lose it."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"a {type(self).__name__} cannot be copied or pickled, for it stands for memory of this process; copy or"
            " pickle the function, or arrays, and make it anew from them"
        )

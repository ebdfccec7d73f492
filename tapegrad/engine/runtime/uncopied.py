"""Objects that stand for memory of this process, which cannot be copied or pickled."""

from typing import Any


class Uncopied:
    """What stands for memory of this process: two of them would free it twice, and elsewhere it would not be there."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"a {type(self).__name__} cannot be copied or pickled, for it stands for memory of this process; copy or"
            " pickle the function, or arrays, and make it anew from them"
        )

"""Base classes of what is called without Python where it was called alike before."""

from typing import TYPE_CHECKING, Any

from tapegrad.engine.codegen.python_calls.callable_type import callable_types
from tapegrad.frontend.tensor.modes import entered, thread

if TYPE_CHECKING:

    class _Called:
        _fast: Any

        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    class UnlessObserved(_Called):
        """Instances are called by `_fast`, but for threads whose instructions are observed or may give nan."""

    class UnlessNested(_Called):
        """Instances are called by `_fast`, but within other transforms, or where instructions may give nan."""
else:
    UnlessObserved, UnlessNested = callable_types(
        __name__, thread, entered, "no_fast_call", "no_fast_derivative"
    )

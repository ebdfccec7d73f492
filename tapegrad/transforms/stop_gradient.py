"""`stop_gradient`: what follows sees a constant."""

from typing import Any

from tapegrad.frontend.tensor import is_tensor
from tapegrad.pytree import flatten, unflatten


def stop_gradient(value: Any) -> Any:
    """The same values as constants: no tangent and no cotangent passes through.

    Parameters
    ----------
    value
        A Tensor, which is detached, or a structure of them. Anything else stays what it is.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.grad(lambda x: x * tg.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    leaves, definition = flatten(value)
    return unflatten(definition, [leaf.detach() if is_tensor(leaf) else leaf for leaf in leaves])

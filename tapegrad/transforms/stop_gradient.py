"""`stop_gradient`: make a value a constant for differentiation."""

from typing import TypeVar

from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.pytree import flatten, unflatten

T = TypeVar("T")


def stop_gradient(value: T) -> T:
    """Return the same values as constants, through which neither tangents nor cotangents pass.

    Parameters
    ----------
    value : Tensor or structure of Tensors
        Tensors are detached; anything else stays as it is.

    Returns
    -------
    Tensor or structure of Tensors
        Of the structure of `value`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.grad(lambda x: x * tg.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    leaves, definition = flatten(value)
    stopped: T = unflatten(definition, [leaf.detach() if is_tensor(leaf) else leaf for leaf in leaves])
    return stopped

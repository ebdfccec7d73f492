"""`torch`: functions for PyTorch, computed over the memory of its tensors."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.errors import check_function, name_of
from tapegrad.interop.frameworks.derived import Derived, of_leaves
from tapegrad.interop.packages import needed
from tapegrad.pytree import flatten, unflatten


def torch(function: Callable[..., Any], *x0: Any) -> Callable[..., Any]:
    """Make a function of PyTorch's tensors that is computed here, with its derivatives.

    Parameters
    ----------
    function : callable
        A function of arrays, numbers, and structures of them, that returns an array or a structure of arrays.
    *x0 : arrays, tensors, or structures of them, optional
        An example of the arguments, which is recorded at once. Without it the first call records. Other shapes, dtypes
        and branches are recorded when they come.

    Returns
    -------
    callable
        A function of tensors on the CPU, and of structures of them. It is a node of PyTorch's graph: ``backward`` of
        any order, `torch.func` and forward mode differentiate it. Its results are new tensors; arguments are read where
        they lie, without a copy.

    Raises
    ------
    ModuleNotFoundError
        If PyTorch is not installed.
    TypeError
        By the function, for tensors that are not on the CPU, sparse, or of a dtype that NumPy does not have.

    Notes
    -----
    The reverse sweep runs in ``backward``, but for functions whose result is a number: their gradient is computed with
    the value. `torch.compile` leaves the function as it is.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> f = tg.interop.torch(lambda x: tg.sum(tg.sin(x) ** 2), np.zeros(2))  # doctest: +SKIP
    >>> x = torch.tensor([0.3, 0.7], requires_grad=True)  # doctest: +SKIP
    >>> f(x).backward()  # doctest: +SKIP
    """
    check_function("interop.torch", function)
    package = needed("torch", "torch")
    nodes = importlib.import_module("tapegrad.interop.frameworks.torch_nodes")
    call = nodes.call
    operations: dict[Any, Derived] = {}
    plain = Derived(function)

    def of_torch(*args: Any) -> Any:
        if package.compiler.is_compiling():  # it would look into this code
            return outside(*args)
        if all(type(each) is package.Tensor for each in args):
            return call(plain, args)
        leaves, definition = flatten(args)
        operation = operations.get(definition)
        if operation is None:
            operation = operations[definition] = Derived(of_leaves(function, definition))
        return call(operation, leaves)

    outside = package.compiler.disable(of_torch)
    of_torch.__name__ = of_torch.__qualname__ = name_of(function)
    of_torch.__doc__ = function.__doc__
    if x0:
        leaves, definition = flatten(x0)
        of_torch(*unflatten(definition, [_example(package, nodes, leaf) for leaf in leaves]))
    return of_torch


def _example(package: Any, nodes: Any, leaf: Any) -> Any:
    """Return a leaf of an example; arrays as tensors, whose gradient is asked for if they may have one."""
    if isinstance(leaf, np.ndarray):
        leaf = package.from_numpy(leaf)
    is_wanted = isinstance(leaf, package.Tensor) and nodes.is_differentiable(leaf)
    return leaf.detach().requires_grad_() if is_wanted else leaf

"""SciPy's arguments that are checked before they are passed on."""

from typing import Any

from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.pytree import flatten, paths


def further(args: Any, name: str = "args") -> Any:
    """Return the further arguments of the user's function as a tuple; those by name as a dict.

    Raises
    ------
    TypeError
        For a Tensor among them: an optimiser computes with arrays, so nothing could be differentiated by it.
    """
    args = args if isinstance(args, tuple | dict) else (args,)
    for leaf, path in zip(flatten(args)[0], paths(args), strict=True):
        if is_tensor(leaf):
            raise TypeError(
                f"{name}{path} is a Tensor, but an optimiser calls with arrays and differentiates by x0 only;"
                " pass its .data"
            )
    return args


def without_defaults(options: dict[str, Any], derivative: str, who: str) -> dict[str, Any]:
    """Return the options without ``jac``, ``hess`` and ``hessp`` that are `None`.

    Raises
    ------
    TypeError
        For any other ``jac``: the derivative is computed.
    """
    if options.get("jac") is not None and options["jac"] is not False:
        raise TypeError(f"{who}: the {derivative} is computed; leave out the argument jac")
    silent = {"jac", *(name for name in ("hess", "hessp") if options.get(name) is None)}
    return {name: value for name, value in options.items() if name not in silent}

"""Arguments by SciPy's names, passed on to functions of tapegrad that take some of them."""

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.recording.record_structural import as_tensor

# Arguments that change nothing in a result: memory, threads, checks and drivers.
_WITHOUT_EFFECT = frozenset({
    "overwrite_a", "overwrite_b", "overwrite_ab", "overwrite_cb", "check_finite", "lwork", "lapack_driver", "driver",
    "blocksize", "solver", "solver_args", "use_umfpack", "copy", "assume_sorted",
})  # fmt: skip
_PLAIN = (bool, int, float, str, type(None), tuple)


@lru_cache(1024)
def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function or a class."""
    return inspect.signature(function)


def named(*functions: Any) -> dict[str, Callable[..., Any]]:
    """Return functions by their names."""
    return {each.__name__: each for each in functions}


def array_of(value: Any) -> Any:
    """Return lists, in which Tensors may be, as one Tensor."""
    return as_tensor(value, "array") if isinstance(value, list | tuple) else value


def pass_on(name: str, theirs: Callable[..., Any], ours: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function of tapegrad with the arguments of SciPy's.

    Those that have SciPy's default, or change nothing in the result, are left out. The first one goes by position.

    Parameters
    ----------
    name
        SciPy's function in full, for messages.
    theirs, ours
        Both functions.
    args, kwargs
        What SciPy's is called with.

    Raises
    ------
    UnsupportedError
        For other arguments that ours lacks.
    """
    signature, parameters = signature_of(theirs), signature_of(ours).parameters
    kinds = {each.kind for each in signature.parameters.values()}
    if list(signature.parameters) == list(parameters) or inspect.Parameter.VAR_POSITIONAL in kinds:
        return ours(*args, **kwargs)
    bound = signature.bind(*args, **kwargs).arguments
    rest = {key: value for key, value in bound.items() if not _is_default(signature.parameters[key], value)}
    for key in [key for key in rest if signature.parameters[key].kind is inspect.Parameter.VAR_KEYWORD]:
        rest.update(rest.pop(key))
    first = [rest.pop(key) for key in list(signature.parameters)[:1] if key in rest]
    unknown = rest.keys() - list(parameters)[1:]
    if unknown and not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values()):
        raise UnsupportedError(
            f"{name}: {', '.join(sorted(unknown))} cannot be given where other arguments are Tensors, or the function"
            f" returns some; leave out all but {', '.join(parameters)}, or write it with functions of tapegrad"
        )
    return ours(*first, **rest)


def _is_default(parameter: inspect.Parameter, value: Any) -> bool:
    """Return whether an argument may be left out."""
    is_equal = (
        type(value) is type(parameter.default) and isinstance(value, _PLAIN) and value == parameter.default
    )
    return parameter.name in _WITHOUT_EFFECT or value is parameter.default or is_equal

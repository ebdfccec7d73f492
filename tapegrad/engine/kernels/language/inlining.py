"""Functions that only compiled code calls: helpers, by how they are compiled, and intrinsics.

The package has six hundred. Numba's dispatchers and intrinsics of all take a fifth of a second to make, and a process
that finds its machine code in the cache needs none: each is made when Numba first meets the function.
"""

from collections.abc import Callable
from typing import Any

from tapegrad.engine.kernels.language import extending, linking, numba, numba_internals, types

# C functions that Python hands out by their addresses: kernels of no op, drivers, functions that threads run.
CALLED_BY_ADDRESS: dict[tuple[str, str], Callable[..., int]] = {}


def called_by_address(function: Callable[..., int]) -> Callable[..., int]:
    """Note a C function of integers that Python hands out by its address: it can be compiled ahead of time."""
    CALLED_BY_ADDRESS[function.__module__, function.__qualname__] = function
    return function


class _Deferred:
    """A function with Numba's object for it, which is made on first demand.

    Numba asks a global variable that it does not know for its type by the name ``_numba_type_``.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        self.__module__, self.__doc__ = function.__module__, function.__doc__
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        self._made: Any = None

    @property
    def numbas(self) -> Any:
        """Numba's object for the function."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def _make(self) -> Any:
        raise NotImplementedError

    def __deepcopy__(self, memo: Any) -> Any:
        return self  # Numba copies what it compiles

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} {self.__module__}.{self.__qualname__}>"


class Helper(_Deferred):
    """Function that Numba compiles as its callers need it: a dispatcher.

    Attributes
    ----------
    py_func, targetoptions
        The Python function, and how it is compiled; by these names Numba looks for what it inlines. The option
        `pipeline_class` is the name of a class of `linking`.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function)
        self.targetoptions = options

    def _make(self) -> Any:
        compiler = getattr(linking, self.targetoptions.get("pipeline_class", "Compiler"))
        return numba.njit(**{**self.targetoptions, "pipeline_class": compiler})(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        return self.numbas._numba_type_

    def __call__(self, *args: Any) -> Any:
        """Call it from Python, if it is compiled for that."""
        return self.numbas(*args)


class Intrinsic(_Deferred):
    """Function whose calls are instructions: the Python function returns their signature, and what emits them."""

    def _make(self) -> Any:
        return extending.intrinsic(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        context = numba_internals.cpu_target.typing_context
        made = self.numbas
        context.refresh()  # it knows none that was made since it was last used
        return context.resolve_value_type(made)


class ExternalFunction:
    """C function that compiled code calls by its symbol, with Numba's names of the types of result and arguments."""

    def __init__(self, symbol: str, names: tuple[str, ...]) -> None:
        self.symbol, self._names = symbol, names

    @property
    def _numba_type_(self) -> Any:
        result, *arguments = (getattr(types, name) for name in self._names)
        return types.ExternalFunction(self.symbol, result(*arguments))


def helpers(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a decorator for functions that are compiled with these options of `numba.njit`."""

    def decorate(function: Callable[..., Any]) -> Helper:
        return Helper(function, options)

    return decorate


def intrinsic(function: Callable[..., Any]) -> Any:
    """Make an intrinsic, as `numba.extending.intrinsic` does."""
    return Intrinsic(function)


def external_function(symbol: str, *names: str) -> Any:
    """Declare a C function, with Numba's names of the types of its result and its arguments."""
    return ExternalFunction(symbol, names)


_NOINLINE_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": "PartCompiler",
}

# Inlined by Numba, before types are known, so that a constant argument is a constant in the body.
always_inline = helpers(error_model="numpy", inline="always")
# A function of its own, compiled once for each combination of argument types.
noinline = helpers(**_NOINLINE_OPTIONS)
# `noinline` with sums that may be reordered, so that they are vectorised. nan and inf are treated exactly.
noinline_reordered = helpers(fastmath={"reassoc", "contract"}, **_NOINLINE_OPTIONS)
# A loop over elements called by plain functions: it is vectorised, they are not.
noinline_loop = helpers(**{**_NOINLINE_OPTIONS, "pipeline_class": "LoopPartCompiler"})

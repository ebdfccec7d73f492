"""Programs as text: the source of a function, its arguments at some points, and the arrays that it closes over.

The same text runs on plain arrays, where the names of the library are the twins of `twins`, and on Tensors.
"""

import ast
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tapegrad as tg
from helpers.compositions import twins

Arrays = tuple[np.ndarray, ...]
TRANSFORMED = ("scan", "fori_loop", "while_loop", "cond", "vmap", "grad", "jvp", "hvp")
NUMPY = {"np": twins.Words(), "power": twins.power, **{name: getattr(twins, name) for name in TRANSFORMED}}
TAPE = {"np": np, **{name: getattr(tg, name) for name in TRANSFORMED}}


@dataclass(frozen=True)
class Program:
    """A function of arrays as text, with points to evaluate it at.

    Parameters
    ----------
    text : str
        The definition of a function `f` that returns a real number, or an array.
    points : sequence of tuple of numpy.ndarray
        Arguments of `f`.
    constants : sequence of dict
        By point: the contents of the arrays that `f` closes over, by name.
    directions : tuple of tuple of numpy.ndarray
        Two directions, each of an array for each argument.
    is_single : bool
        Whether the arguments and the constants are of single precision; the text may be in any case.
    """

    text: str
    points: Sequence[Arrays]
    constants: Sequence[dict[str, np.ndarray]]
    directions: tuple[Arrays, Arrays]
    is_single: bool = False
    seed: int = -1
    argnums: tuple[int, ...] = field(default=())

    def uses(self, *words: str) -> bool:
        """Return whether any of some words is in the text."""
        return any(word in self.text for word in words)

    @functools.cached_property
    def is_loose(self) -> bool:
        """Whether some part is computed in single precision."""
        return self.is_single or self.uses("float32")

    @functools.cached_property
    def reference(self) -> Callable[..., Any]:
        """The function on plain arrays, in double precision all through."""
        text = twins.watched(self.text.replace("np.float32", "np.float64"))
        names = define(text, NUMPY, self.constants[0])

        def evaluate(arguments: Arrays, point: int = 0) -> np.ndarray:
            names.update(copies(self.constants[point]))
            with np.errstate(all="ignore"):
                return np.asarray(names["f"](*map(widened, arguments)))

        return evaluate

    def on_tensors(self) -> dict[str, Any]:
        """Return a new namespace in which `f` is the function on Tensors."""
        return define(self.text, {**TAPE, "tg": tg, "dot": dot, "twice": twice}, self.constants[0])

    def moved(self, arguments: Arrays, direction: Arrays, step: float) -> Arrays:
        """Return arguments that are moved along a direction: zeros of it leave the bits of a part as they are."""
        return tuple(_moved(x, d, step) for x, d in zip(arguments, direction, strict=True))


def define(text: str | ast.AST, names: dict[str, Any], constants: dict[str, np.ndarray]) -> dict[str, Any]:
    """Run the text of a program in a new namespace."""
    namespace = {**names, **copies(constants)}
    exec(compile(text, "<composition>", "exec"), namespace)
    return namespace


def copies(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return a dict of copies."""
    return {name: np.copy(array) for name, array in arrays.items()}


def widened(x: np.ndarray) -> np.ndarray:
    """Return a copy in double precision that cannot be written to.

    A program that writes to a view of its argument is none: gradients by `backward` are those of what was written.
    Views of arguments without axes are arrays of their own while statements are drawn, for there these are numbers.
    """
    found = np.array(x, dtype=np.result_type(x, np.float64))
    found.flags.writeable = False
    return found


def dot(arrays: Sequence[Any], others: Sequence[Any]) -> Any:
    """Return the real inner product of two tuples of arrays."""
    return sum(np.sum(np.real(np.conj(a) * b)) for a, b in zip(arrays, others, strict=True))


def twice(y: Any) -> tuple[Any, Any]:
    """Return a value, and another one that is computed from it."""
    return y, np.sin(y)


def _moved(x: np.ndarray, d: np.ndarray, step: float) -> np.ndarray:
    if np.iscomplexobj(x):
        found = np.array(x)
        found.real, found.imag = _moved(x.real, np.real(d), step), _moved(x.imag, np.imag(d), step)
        return found
    return np.where(d == 0, x, x + step * d)

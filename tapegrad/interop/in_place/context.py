"""`in_place_of_scipy`: code that was written with SciPy and `math` takes Tensors."""

from contextlib import ContextDecorator

from tapegrad.interop.in_place.names import names
from tapegrad.interop.in_place.stand_ins import creates
from tapegrad.stats.scipys_place import inside, patches


class in_place_of_scipy(ContextDecorator):
    """Let functions of SciPy, `math`, and NumPy's converters take Tensors: those of tapegrad compute in their place.

    A context manager, and a decorator. Inside, in this thread or task, a call that gets a Tensor, also in a list, runs
    the function of tapegrad of the same name, under all names that modules have imported it by: ``from scipy.linalg
    import solve``. With arrays and numbers alone, and in other threads, functions are SciPy's own. What `jit` records
    inside is replayed anywhere.

    Parameters
    ----------
    creation : bool, default False
        Whether `numpy.zeros`, `empty`, `ones`, `full`, `eye` and their like create Tensors while something is recorded
        or differentiated, so that results can be written into them: ``out = np.zeros(n); out[i] = t``. Code that hands
        such arrays to C does without.

    Raises
    ------
    UnsupportedError
        By a call that gets a Tensor, if tapegrad has no such function, method, or argument.
    TypeError
        By a function of `math`, of a Tensor that is no single real number.

    Notes
    -----
    Functions and classes of these modules are put in place, where tapegrad has them: `scipy.special`, `linalg`,
    `interpolate`, `integrate`, `ndimage`, `signal`, `optimize` (roots and minima, with implicit derivatives),
    `spatial.distance`, ``sparse.linalg.spsolve``, and distributions and `entropy` of `scipy.stats`; those of `fft` take
    Tensors themselves. So are methods of SciPy's interpolators of plain data, at Tensors. A solver that calls a
    function of the user's, which closes over Tensors, is SciPy's until that returns one.

    So are those functions of NumPy that make arrays of anything, such as `numpy.asarray` and `numpy.array`: a Tensor,
    or a list with Tensors in it, gives a Tensor. `@njit` functions run as the Python functions that they were made of,
    where they get a Tensor, and Numba's ufuncs element by element; those with declared signatures alone do not.

    Functions of `math` follow NumPy outside of their domain: ``math.log`` of a negative Tensor is nan, of a number it
    raises `ValueError` as ever. Predicates, such as ``math.isnan``, give a `bool`, by which a recording branches.

    Names are exchanged in variables of modules, not in closures, defaults of arguments, or containers that hold a
    function since before. Gradients by `backward` of solutions of equations are taken inside as well: their rules may
    call the user's function again.

    Examples
    --------
    >>> import math
    >>> import numpy as np, tapegrad as tg
    >>> from scipy.linalg import cho_factor, cho_solve
    >>> def log_likelihood(scale, y):
    ...     factor = cho_factor(np.exp(-scale * np.subtract.outer(y, y) ** 2) + np.eye(len(y)))
    ...     return -0.5 * y @ cho_solve(factor, y) - np.sum(np.log(np.diag(factor[0]))) - math.log(math.pi)
    >>> with tg.in_place_of_scipy():
    ...     tg.grad(log_likelihood)(0.5, np.array([-1.0, 1.0, 2.0])).round(6)
    np.float64(-0.143196)
    """

    def __init__(self, *, creation: bool = False) -> None:
        self._creation = creation
        self._before: list[bool] = []

    def _recreate_cm(self) -> "in_place_of_scipy":
        return in_place_of_scipy(creation=self._creation)  # a decorated function may call itself

    def __enter__(self) -> None:
        names.add()
        patches.add()
        inside.set(inside.get() + 1)
        self._before.append(creates.get())
        creates.set(self._creation or creates.get())

    def __exit__(self, *error: object) -> None:
        inside.set(max(inside.get() - 1, 0))  # no token: contexts may end in any order
        creates.set(self._before.pop() and inside.get() > 0)
        patches.remove()
        names.remove()

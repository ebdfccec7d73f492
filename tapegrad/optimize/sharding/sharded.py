"""`sharded`: a sum over parts of the data as an objective, evaluated by threads, processes or machines."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError, check_function
from tapegrad.frontend.functions.reductions import reductions
from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout
from tapegrad.frontend.tensor.copying import described
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.optimize.arguments import further
from tapegrad.optimize.flat import FlatScalar, FlatVector, flat_jit, layout_of, raveled, unraveled
from tapegrad.optimize.native.sharing import checked_threads
from tapegrad.optimize.objective import Objective
from tapegrad.optimize.sharding.compressed import CompressedResiduals
from tapegrad.optimize.sharding.engine import Engine
from tapegrad.optimize.sharding.engines import engine_of
from tapegrad.optimize.sharding.journal import Journal
from tapegrad.optimize.sharding.parts import parts_of
from tapegrad.optimize.sharding.recordings import Listed, NormalEquations, Point, SparseHessian
from tapegrad.optimize.sharding.store import Store, default_keep
from tapegrad.optimize.sharding.sums import PartsSum
from tapegrad.optimize.vector_function import VectorFunction
from tapegrad.program.recording.signature import has_tensor
from tapegrad.transforms.compiled.compiled import compile
from tapegrad.transforms.jit import jit

_SPARSE = "sparse hessian", lambda function, examples: SparseHessian(function)
_NORMAL = "normal equations", NormalEquations


class _HalfSquares(FlatVector):
    """Half the sum of squares of residuals."""

    def __call__(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        residuals = super().__call__(x, *args, **kwargs)
        return 0.5 * reductions.sum(residuals * residuals)


class Sharded(Objective):
    """Sum of a function over parts of the data; made by `sharded`.

    Attributes
    ----------
    function
        The sum as a function of the parameters, recorded by `jit`.
    of_part
        The function of the parameters and a part, recorded by `jit`.
    parts
        How many parts there are.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        x0: Any,
        engine: Engine,
        *,
        parts: int,
        residuals: bool,
        journal: Journal | None,
        name: str = "the sum",
    ) -> None:
        self.of_part = jit(function)
        self._engine, self.parts, self._residuals, self._journal, self._name = (
            engine,
            parts,
            residuals,
            journal,
            name,
        )
        self._others: dict[LeafLayout, Sharded] = {}
        VectorFunction.__init__(self, self._on_tensors, x0)

    def __reduce__(self) -> Any:
        raise TypeError("a function of sharded() has workers, and is not pickled; make it where it is used")

    def __repr__(self) -> str:
        return f"sharded({described(self.of_part.function)}, {self.parts} parts)"

    def _bind(self, layout: LeafLayout) -> None:
        self._layout, self._shape = layout, (layout.size,)
        kind = _HalfSquares if self._residuals else FlatScalar
        self._sum = PartsSum(flat_jit(kind, self.of_part, layout), self._engine, self._journal, self._name)
        self._vectors = flat_jit(FlatVector, self.of_part, layout)
        self._replayed = jit(lambda x: self._sum.op(x)[0])

    def at(self, x0: Any) -> "Sharded":
        """Return the same function, with the same workers, for structures like `x0`.

        Parameters
        ----------
        x0
            Any point of the structure.

        Returns
        -------
        Sharded
            This one itself if the structure is the same, or is not known yet.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> total = tg.optimize.sharded(lambda p, part: tg.sum((part - p) ** 2), [np.arange(3.0), np.ones(3)])
        >>> total.at(0.0) is total
        True
        """
        layout = layout_of(x0)
        if self._layout is None:
            self._x0 = x0
            self._bind(layout)
        if layout == self._layout:
            return self
        if layout not in self._others:
            self._others[layout] = beside(self, self.of_part, x0, self._name)
        return self._others[layout]

    def close(self) -> None:
        """End the threads or workers that belong to the function, and close its checkpoint.

        An executor or cluster that was passed stays as it is. ``with tg.optimize.sharded(...) as total:`` does so at
        the end.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> with tg.optimize.sharded(lambda p, part: tg.sum((part - p) ** 2), [np.zeros(3)]) as total:
        ...     print(total(1.0))
        3.0
        """
        self._engine.close()
        if self._journal is not None:
            self._journal.close()

    def __enter__(self) -> "Sharded":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --- values and derivatives ----------------------------------------------------------------------------------

    @hides_frames
    def __call__(self, x: Any, *args: Any) -> Any:
        """Return the sum over all parts. Of a Tensor it is a Tensor, with derivatives of all orders."""
        return self._on_tensors(x, *args) if has_tensor((x,), {}) else self.value(x, *args)

    def _on_tensors(self, x: Any, *args: Any) -> Any:
        if args:
            raise UnsupportedError(
                f"{self!r}: further arguments are not for calls with Tensors; bind them: sharded(lambda x, part: f(x,"
                " part, a), parts)"
            )
        target = self.at(x) if self._layout is None else self
        return target._sum.op(raveled(x, target.layout))[0]

    def fun(self, x: Any, *args: Any) -> tuple[Any, Any]:
        value, gradient = self._sum_at(x).value_and_grad(self._vector(x), *further(args))
        return value, self._like(x, gradient)

    def value(self, x: Any, *args: Any) -> Any:
        return self._sum_at(x).value(self._vector(x), *further(args))

    def grad(self, x: Any, *args: Any) -> Any:
        return self.fun(x, *args)[1]

    def hess(self, x: Any, *args: Any) -> np.ndarray:
        return self._sum_at(x).hessian(self._vector(x), *further(args))

    def sparse_hess(self, x: Any, *args: Any) -> Any:
        return self._sum_at(x).evaluate(_SPARSE, Point(self._vector(x), further(args)))[0]

    def hessp(self, x: Any, v: Any, *args: Any) -> Any:
        total, direction = self._sum_at(x), self._vector(v)
        return self._like(x, total.product(self._vector(x), direction, *further(args)))

    def value_and_grad(self, x: Any, *args: Any) -> tuple[Any, Any]:
        """Return the sum over all parts, and its gradient.

        Parameters
        ----------
        x : array_like or structure of arrays
            The parameters, or all of them as one vector.
        *args
            Further arguments of the function.

        Returns
        -------
        value : float
            The sum.
        gradient
            Of the structure of `x`.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> parts = [np.arange(3.0), np.ones(3)]
        >>> total = tg.optimize.sharded(lambda p, part: tg.sum((part - p["a"]) ** 2), parts)
        >>> total.value_and_grad({"a": 1.0})
        (np.float64(2.0), {'a': np.float64(0.0)})
        """
        return self.fun(x, *args)

    def hvp(self, x: Any, v: Any, *args: Any) -> Any:
        """Return the product of the Hessian with a direction.

        Parameters
        ----------
        x, v : array_like or structure of arrays
            The parameters and the direction, of one structure.
        *args
            Further arguments of the function.

        Returns
        -------
        array or structure of arrays
            Of the structure of `x`.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> total = tg.optimize.sharded(lambda x, part: part @ x**3, [np.array([1.0, 2.0]), np.ones(2)])
        >>> total.hvp(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
        array([12.,  0.])
        """
        return self.hessp(x, v, *args)

    def hessian(self, x: Any, *args: Any, sparse: bool = False) -> Any:
        """Return the Hessian by the parameters as one vector.

        Parameters
        ----------
        x : array_like or structure of arrays
            The parameters.
        *args
            Further arguments of the function.
        sparse : bool, default False
            Whether it is a sparse matrix. Each part is recorded by itself then, with its own pattern, so that parts
            should be few, or kept in memory.

        Returns
        -------
        numpy.ndarray or scipy.sparse.csr_array, shape (n, n)
            A new matrix.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> total = tg.optimize.sharded(lambda x, part: part @ x**3, [np.array([1.0, 2.0]), np.ones(2)])
        >>> total.hessian(np.array([1.0, 2.0]))
        array([[12.,  0.],
               [ 0., 36.]])
        """
        return self.sparse_hess(x, *args) if sparse else self.hess(x, *args)

    def normal_equations(self, x: Any, *args: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the normal equations of all residuals r, with Jacobian J, for ``residuals=True``.

        Parameters
        ----------
        x : array_like or structure of arrays
            The parameters.
        *args
            Further arguments of the function.

        Returns
        -------
        cost : float
            Half the sum of squares.
        gradient : numpy.ndarray, shape (n,)
            ``J.T @ r``.
        matrix : numpy.ndarray, shape (n, n)
            ``J.T @ J``.

        Raises
        ------
        TypeError
            If the function does not return residuals.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> parts = [np.arange(3.0), np.ones(3)]
        >>> total = tg.optimize.sharded(lambda p, part: part - p[0], parts, residuals=True)
        >>> total.normal_equations([0.0])
        (np.float64(4.0), array([-6.]), array([[6.]]))
        """
        if not self._residuals:
            raise TypeError(
                f"{self!r} returns a scalar; for residuals write sharded(f, parts, residuals=True)"
            )
        total = self._sum_at(x)
        cost, gradient, matrix = total.evaluate(_NORMAL, Point(self._vector(x), further(args)), self._vectors)
        return cost, gradient, matrix

    def residuals(self, x0: Any, options: dict[str, Any]) -> CompressedResiduals:
        if not self._residuals:
            return super().residuals(x0, options)
        if options.get("loss", "linear") != "linear":
            raise UnsupportedError(
                "least_squares: of sharded residuals there are normal equations alone, without a robust loss; return the"
                " loss of a part, and write minimize(sharded(f, parts), x0)"
            )
        return CompressedResiduals(self.at(x0))

    def _sum_at(self, x: Any) -> PartsSum:
        if self._layout is None:
            self._bind(layout_of(x))
        return self._sum

    def _like(self, x: Any, vector: np.ndarray) -> Any:
        """Return a vector in the structure of the argument."""
        is_vector = self.layout.is_vector or (isinstance(x, np.ndarray) and x.shape == self._shape)
        return vector if is_vector else unraveled(vector, self.layout)


def beside(total: Sharded, function: Callable[..., Any], x0: Any, name: str) -> Sharded:
    """Return the sum of another function over the same parts, by the same workers."""
    return Sharded(
        function,
        x0,
        total._engine,
        parts=total.parts,
        residuals=total._residuals,
        journal=total._journal,
        name=name,
    )


def of_each(total: Sharded, name: str, function: Callable[..., Any], x: Any, *args: Any) -> list[Any]:
    """Return what a function of vector, part and further arguments gives of each part, an array."""
    kind = name, lambda function, examples: Listed(compile(function, *examples))
    values: list[Any] = total._sum_at(x).evaluate(kind, Point(total._vector(x), args), jit(function))[0]
    return values


def part_of(total: Sharded, number: int) -> Any:
    """Return a part, in this process."""
    return total._engine.store.loaded(number).part


def sharded(
    function: Callable[..., Any],
    parts: Any,
    executor: Any = None,
    *,
    x0: Any = None,
    residuals: bool = False,
    rows: int | None = None,
    columns: Sequence[str] | None = None,
    threads: int | None = None,
    keep: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Sharded:
    """Make an objective of a sum over parts of the data, which threads, processes or machines evaluate.

    Parameters
    ----------
    function : callable
        ``function(x, part, *args)`` returns what a part contributes, a scalar: minus the logarithm of its likelihood.
        It is recorded once for each signature of parts, and replayed where they are.
    parts : sequence, or arrays, files and collections
        The parts, each an array, a structure of arrays, or a function without arguments that returns one, and is called
        where it is needed. Or what parts are cut from: with `rows` an array or a structure of arrays of one length
        (those of `numpy.memmap` and zarr are read where they are needed), the path of a Parquet file or of a folder of
        them (row groups, as dicts of columns), Dask arrays and dataframes (partitions), arrays of zarr (chunks).
    executor : optional
        Who evaluates the parts: by default threads of this process. A `concurrent.futures.Executor` (processes, loky,
        ``mpi4py.futures``), or a function that makes one and is called again when workers are lost; a list of those,
        each of one worker, which keep the same parts; a `distributed.Client`; the module ``ray``; a communicator of
        mpi4py, in a program that all processes run.
    x0 : array_like or structure of arrays, optional
        Any point of the structure of `x`. By default it is that of the first call.
    residuals : bool, default False
        Whether `function` returns residuals, of which half the sum of squares counts, for `least_squares`.
    rows : int, optional
        How many rows a part has.
    columns : sequence of str, optional
        Columns to read of a Parquet file; by default all.
    threads : int, optional
        How many threads work, without `executor`; by default as many as there are processors.
    keep : int, optional
        How many bytes of parts that are read each process keeps; by default a quarter of its machine's memory. What
        does not fit is read again in each evaluation.
    checkpoint : str or os.PathLike, optional
        A file that all evaluations are written to. The same program, started again, finds them and goes on to the same
        bits.
    progress : bool, default True
        Whether an evaluation that takes longer than a second shows how far it is.

    Returns
    -------
    Sharded
        The sum, a function of `x`, with derivatives of all orders. It is an objective for `minimize`, with
        ``residuals=True`` for `least_squares`, and goes into `problem`, `laplace` and `tapegrad.interop` as a function.
        Its methods are ``value_and_grad``, ``grad``, ``hvp``, ``hessian``, ``normal_equations`` and ``close``.

    Raises
    ------
    TypeError, ValueError
        For parts, an executor or a checkpoint that are none.
    RuntimeError
        By an evaluation, if workers are lost three times.

    Notes
    -----
    Contributions are added in a tree that the number of parts alone determines, so that who computes which part, and
    in which order, does not change a bit; processors of one kind have the same bits in each part, too. Large instructions
    run on several threads, but for that a part is the work of one thread: have more parts than there are.

    A part that raises is named: the exception has a note with its number and where it comes from. Recordings are sent to
    other processes as numbers, without code, where they can be saved (`Compiled.save`), else the function is pickled.
    Parts are sent once; what is written to them later is seen by threads alone. What `function` captures is compared
    before each evaluation, as by `jit`.

    See Also
    --------
    minimize, least_squares, laplace : What it is for.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> rng = np.random.default_rng(0)
    >>> data = {"x": rng.normal(size=(10_000, 3)), "y": rng.normal(size=10_000)}
    >>> def loss(w, part):
    ...     return tg.sum((part["x"] @ w - part["y"]) ** 2)
    >>> total = tg.optimize.sharded(loss, data, rows=1000)
    >>> total
    sharded(loss, 10 parts)
    >>> total.grad(np.zeros(3)).shape
    (3,)
    >>> found = tg.optimize.minimize(total, np.zeros(3))
    >>> bool(found.success)
    True
    """
    check_function("sharded", function)
    pieces = parts_of(parts, rows, columns)
    keep = default_keep() if keep is None else keep
    store = Store(pieces.__getitem__, len(pieces), keep)
    engine = engine_of(executor, pieces, store, checked_threads(threads, "sharded"), progress)
    journal = None if checkpoint is None else engine.journal(checkpoint)
    return Sharded(function, x0, engine, parts=len(pieces), residuals=residuals, journal=journal)

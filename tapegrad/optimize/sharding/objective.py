"""Sums over parts of the data as objectives, for vectors and structures. Imported when the first is made."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.runtime.operating_system import processors
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.functions.reductions import reductions
from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout
from tapegrad.frontend.tensor.copying import described
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.optimize.arguments import further
from tapegrad.optimize.flat import (
    FlatScalar,
    FlatVector,
    flat_jit,
    layout_of,
    raveled,
    raveled_numbers,
    unraveled,
)
from tapegrad.optimize.native.sharing import checked_threads
from tapegrad.optimize.objective import Objective
from tapegrad.optimize.sharding.compressed import CompressedResiduals
from tapegrad.optimize.sharding.engines.engine import Engine
from tapegrad.optimize.sharding.engines.threads import ThreadEngine
from tapegrad.optimize.sharding.recordings import (
    EvaluationPoint,
    ListedResults,
    NormalEquations,
    SparseHessian,
)
from tapegrad.optimize.sharding.store import Store, default_keep
from tapegrad.optimize.sharding.sums import PartsSum
from tapegrad.optimize.vector_function import VectorFunction
from tapegrad.program.recording.signature import has_tensor
from tapegrad.transforms.compiled.compiled import compile
from tapegrad.transforms.jit import Jit, jit


def _listed(function: Jit[..., Any], examples: list[Any]) -> ListedResults:
    return ListedResults(compile(function, *examples))


def _sparse(function: Jit[..., Any], examples: list[Any]) -> SparseHessian:
    return SparseHessian(function)


_SPARSE = "sparse hessian", _sparse
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
        journal: Any,
        name: str = "the sum",
    ) -> None:
        self.of_part = jit(function)
        self.parts, self._name = parts, name
        self._engine, self._residuals, self._journal = engine, residuals, journal
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
        self._replayed = jit(self._of_vector)

    def _of_vector(self, x: Any) -> Any:
        return self._sum.op(x)[0]

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
            self._others[layout] = self.beside(self.of_part, x0, self._name)
        return self._others[layout]

    def beside(self, function: Callable[..., Any], x0: Any, name: str) -> "Sharded":
        """Return the sum of another function over the same parts, by the same workers."""
        return Sharded(
            function,
            x0,
            self._engine,
            parts=self.parts,
            residuals=self._residuals,
            journal=self._journal,
            name=name,
        )

    def close(self) -> None:
        """End the threads or workers that belong to the function, and close its checkpoint.

        An executor or cluster that was passed stays as it is. ``with tg.optimize.sharded(...) as total:`` does so at
        the end. What is evaluated later is computed by one thread, or workers that are made anew, and not written.

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
        if self._layout is None:
            self.at(x)
        return self._sum.op(raveled(x, self.layout))[0]

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
        return self._sum_at(x).evaluate(_SPARSE, EvaluationPoint(self._vector(x), further(args)))[0]

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
        cost, gradient, matrix = total.evaluate(
            _NORMAL, EvaluationPoint(self._vector(x), further(args)), self._vectors
        )
        return cost, gradient, matrix

    def compressed(self, x0: Any, options: dict[str, Any]) -> CompressedResiduals:
        """Return the residuals as `least_squares` takes them, unless `options` ask for more."""
        if not self._residuals:
            raise TypeError(
                f"least_squares: {self!r} returns a scalar; pass it to minimize, or write sharded(f, parts,"
                " residuals=True) of residuals"
            )
        if options.get("loss", "linear") != "linear":
            raise UnsupportedError(
                "least_squares: of sharded residuals there are normal equations alone, without a robust loss; return"
                " the loss of a part, and write minimize(sharded(f, parts), x0)"
            )
        return CompressedResiduals(self.at(x0))

    def of_each(self, name: str, function: Callable[..., Any], x: Any, *args: Any) -> list[Any]:
        """Return what a function of vector, part and further arguments gives of each part, an array."""
        values: list[Any] = self._sum_at(x).evaluate(
            (name, _listed), EvaluationPoint(self._vector(x), args), jit(function)
        )[0]
        return values

    def part(self, number: int) -> Any:
        """Return a part, in this process."""
        return self._engine.store.loaded(number).part

    def _sum_at(self, x: Any) -> PartsSum:
        if self._layout is None:
            self._bind(layout_of(x))
        return self._sum

    def _vector(self, x: Any) -> np.ndarray:
        """Return the argument as a vector: of the layout that is known, for another one would be recorded anew."""
        is_vector = isinstance(x, np.ndarray) and x.shape == self._shape
        return super()._vector(x) if is_vector else raveled_numbers(x, self.layout)

    def _like(self, x: Any, vector: np.ndarray) -> Any:
        """Return a vector in the structure of the argument."""
        is_vector = self.layout.is_vector or (isinstance(x, np.ndarray) and x.shape == self._shape)
        return vector if is_vector else unraveled(vector, self.layout)


def make(
    function: Callable[..., Any],
    parts: list[Any],
    executor: Any,
    x0: Any,
    residuals: bool,
    options: dict[str, Any],
) -> Sharded:
    """Make the objective, its engine and its journal; `options` are those of `sharded` that are left."""
    threads = checked_threads(options.pop("threads", None), "sharded")
    keep, checkpoint = options.pop("keep", None), options.pop("checkpoint", None)
    progress = options.pop("progress", True)
    if options:
        raise TypeError(f"sharded: unexpected arguments {', '.join(options)}")
    if keep is None:
        keep = default_keep(1 if executor is None else processors())
    store = Store(parts.__getitem__, len(parts), keep)
    engine = _engine_of(executor, parts, store, threads, progress)
    journal = None if checkpoint is None else engine.journal(checkpoint)
    return Sharded(function, x0, engine, parts=len(parts), residuals=residuals, journal=journal)


def _engine_of(executor: Any, parts: list[Any], store: Store, threads: int, progress: bool) -> Engine:
    """Return the engine for an executor. The module of each is imported when it is asked for.

    Raises
    ------
    TypeError
        For an object that is none.
    """
    if executor is None:
        return ThreadEngine(parts, store, progress, threads)
    client = executor if hasattr(executor, "nthreads") else getattr(executor, "_client", None)
    if client is not None and hasattr(client, "scatter"):  # of Dask, or its executor
        from tapegrad.optimize.sharding.engines.dask import DaskEngine  # noqa: PLC0415  slow to import

        return DaskEngine(parts, store, progress, client)
    if hasattr(executor, "bcast"):  # an intracommunicator
        from tapegrad.optimize.sharding.engines.mpi import MpiEngine  # noqa: PLC0415  slow to import

        return MpiEngine(parts, store, progress, executor)
    from tapegrad.optimize.sharding.engines.executors import ExecutorEngine  # noqa: PLC0415  slow to import

    if hasattr(executor, "cluster_resources"):  # the module ray
        from tapegrad.optimize.sharding.engines.ray import makers  # noqa: PLC0415  slow to import

        executor = makers(executor)
    several = executor if isinstance(executor, list | tuple) else [executor]
    return ExecutorEngine(parts, store, progress, list(several))

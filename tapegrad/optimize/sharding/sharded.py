"""`sharded`: a sum over parts of the data as an objective, evaluated by threads, processes or machines."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tapegrad.errors import check_function
from tapegrad.optimize.sharding.parts import parts_of

if TYPE_CHECKING:
    from tapegrad.optimize.sharding.objective import Sharded


def sharded(
    function: Callable[..., Any],
    parts: Any,
    executor: Any = None,
    *,
    x0: Any = None,
    residuals: bool = False,
    rows: int | None = None,
    **options: Any,
) -> "Sharded":
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
    **options
        ``columns``
            The names of the columns to read of a Parquet file; by default all.
        ``threads``
            How many threads work, without `executor`; by default as many as there are processors.
        ``keep``
            How many bytes of parts that are read each process keeps; by default a quarter of the machine's memory, with
            `executor` for each of its processors its share of that. What does not fit is read again in each evaluation.
        ``checkpoint``
            The path of a file that all evaluations are written to. The same program, started again, finds them and goes
            on to the same bits.
        ``progress``
            `False` for none. By default an evaluation that takes longer than a second shows how far it is.

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
        By an evaluation, if workers are lost four times, or there are none.

    See Also
    --------
    minimize, least_squares, laplace : What it is for.

    Notes
    -----
    Contributions are added in a tree that the number of parts alone determines, so that who computes which part, and
    in which order, does not change a bit; processors of one kind have the same bits in each part, too. Large
    instructions run on several threads, but for that a part is the work of one thread: have more parts than there are.

    A part that raises is named: the exception has a note with its number and where it comes from. Recordings are sent
    to other processes as numbers, without code, where they can be saved (`Compiled.save`), else the function is
    pickled. Parts are sent once; what is written to them later is seen by threads alone. What `function` captures is
    compared before each evaluation, as by `jit`.

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
    from tapegrad.optimize.sharding.objective import make  # noqa: PLC0415  slow to import

    check_function("sharded", function)
    pieces = parts_of(parts, rows, options.pop("columns", None))
    return make(function, pieces, executor, x0, residuals, options)

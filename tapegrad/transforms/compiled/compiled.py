"""`compile`: a recorded function as a value, for Python, for compiled code and for C."""

import copy
import functools
import inspect
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np

from tapegrad.engine.runtime.whole_files import write_whole
from tapegrad.engine.status import reason_of
from tapegrad.engine.tape.fields.view import View
from tapegrad.errors import check_function, name_of
from tapegrad.frontend.tensor.modes import NO_MODE, restoring, thread
from tapegrad.frontend.words.frames import hide_frames, hides_frames
from tapegrad.program.archive.container import FIRST_BYTES, LAST_BYTES, is_ours
from tapegrad.program.archive.fields import DamagedFileError
from tapegrad.program.archive.functions import StoredFunction, packed_function
from tapegrad.program.fusion.policy import fusion_of
from tapegrad.program.programs.handle import Handle, Source, Specialization
from tapegrad.program.programs.workspace import Workspace
from tapegrad.program.recording.signature import has_tensor
from tapegrad.program.streams.spec import COLUMNS, NEVER, ProgramSpec
from tapegrad.program.traces.listing import html_table
from tapegrad.transforms.base import DerivativeTransform, Transform, of_arrays
from tapegrad.transforms.calling.argnums import checked_argnums, select
from tapegrad.transforms.calling.callables import UnlessNested
from tapegrad.transforms.calling.fast_path import Path as FastPath
from tapegrad.transforms.compiled.compiled_results import leaves_of, specialization_of
from tapegrad.transforms.compiled.entry_points import EntryPoints
from tapegrad.transforms.compiled.frozen import PinnedRecording, PinnedRecordings, frozen
from tapegrad.transforms.compiled.stored import Stored
from tapegrad.transforms.grad import Grad
from tapegrad.transforms.jacobians.hessian import Hessian, HessianProduct
from tapegrad.transforms.jit import Jit


class Compiled(UnlessNested):
    """A function with its programs; made by `compile`.

    Attributes
    ----------
    handle, address
        What compiled code knows it by, and where that lies.
    inputs, results
        What the arrays look like that compiled code gives, and gets: all leaves of the arguments that are arrays or
        floats, and all of the result that are numbers, from left to right.
    function
        What it was made of.
    pattern
        Of a sparse derivative, which is compiled as its entries alone: their places for the first example. `None` for
        others, and where it was loaded from a file.
    """

    pattern: Any = None
    cfunc: ClassVar[Any]  # bound by `interop`, as is what Numba asks for
    _numba_type_: ClassVar[Any]

    def __init__(self, function: Callable[..., Any], examples: Sequence[Any], fuse: bool | None) -> None:
        self.function = function
        self._examples, self._fuse = copy.deepcopy(examples), fuse
        self.__name__ = self.__qualname__ = name_of(function)
        self._recordings = PinnedRecordings(f"the compiled {name_of(function)}", _fused(function, fuse))
        self._call = _rebuilt(function, self._recordings)
        self._returned: list[Any] = []  # by each specialization, for files
        specializations = [
            specialization for example in examples if (specialization := self._record(example)) is not None
        ]
        self._recordings.open = False
        self._content = b""
        workspaces = [recorded.trace.workspaces(recorded.spec) for recorded, _ in specializations]
        self._take(_handle(self._call, specializations), workspaces, self._returned)

    def _take(self, handle: Handle, workspaces: list[list[Workspace]], returned: list[Any]) -> None:
        self.handle, self.address = handle, handle.address
        self.inputs, self.results = handle.inputs, handle.results
        self._fast: FastPath | None = None
        self._short = EntryPoints(handle, workspaces, returned)

    @classmethod
    def _of(cls, content: bytes) -> "Compiled":
        """Make one of a file's bytes."""
        made = cls.__new__(cls)
        stored = Stored(content)
        made.function = made._call = stored
        made._content = content
        made.__name__ = made.__qualname__ = stored.__name__
        made._take(stored.handle, stored.workspaces, stored.returned)
        return made

    @restoring
    def _record(self, example: Any) -> tuple[PinnedRecording, list[Any]] | None:
        """Record one example; return its specialization and the leaves of its result, `None` if it is known."""
        args = example if type(example) is tuple else (example,)
        _check_count(self.function, args)
        if has_tensor(args, {}):
            raise TypeError("compile: the examples are arrays and numbers, not Tensors")
        thread.mode = NO_MODE.but(nan_on_failure=thread.mode.nan_on_failure)
        known = len(self._recordings.pinned)
        result = self._call(*args)
        fresh = [*self._recordings.pinned.values()][known:]
        if not fresh:
            return None
        self._returned.append(result)
        return fresh[0], leaves_of(result)

    def save(self, path: str | os.PathLike[str] | BinaryIO) -> None:
        """Write it to a file, which `load` makes a compiled function of in any process, without the function.

        Parameters
        ----------
        path : str, os.PathLike or file-like object
            The file's name, or what bytes are written to. It is an ``.npz`` of plain arrays, without pickles.

        Raises
        ------
        OSError
            If the file cannot be written; what was there before is there still.
        TypeError
            If it calls Python in a replay (an op of one's own, `vmap` over diverging branches), or if arguments
            or results are in other structures than dicts with strings for keys, lists and tuples.
        ValueError
            If an array that plain NumPy has computed from has changed since.

        Notes
        -----
        The file has the instructions by names, and the contents of arrays that the function closes over as they are
        now. What is loaded computes bit for bit the same.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg, tempfile, pathlib
        >>> h = tg.compile(tg.grad(lambda x: tg.sum(x**2)), np.zeros(2))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     h.save(pathlib.Path(folder, "gradient.tape"))
        ...     loaded = tg.load(pathlib.Path(folder, "gradient.tape"))
        >>> loaded(np.array([1.0, 2.0]))
        array([2., 4.])
        """
        content = self._packed()
        if isinstance(path, str | os.PathLike):
            write_whole(Path(path), content, durable=True)
        else:
            path.write(content)

    def last_failure(self) -> str:
        """Return how many calls from compiled code or C have failed, and at which branch of the function.

        Returns
        -------
        str
            File, line and source text of the branch, for each specialization that was tried, behind the number of
            failed calls if there were several; that number and the reason for other failures, such as a singular
            matrix. Empty if none failed.

        Notes
        -----
        Numba drops what is raised in a chunk of a `prange` that another thread runs, and with it the rest of the chunk;
        this counts it.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> h = tg.compile(lambda x: x**2 if x > 0 else -x, 1.0)
        >>> h.last_failure()
        ''
        """
        count, where = self.handle.failed_calls, "; ".join(dict.fromkeys(self.handle.last_failures()))
        reason = reason_of(self.handle.last_status)
        if count < 2 and where and not reason:
            return where
        failed = f"{count} call{'' if count == 1 else 's'} failed" if count else ""
        if reason:
            return f"{failed}{', the last one' if count > 1 else ''}: {reason}"
        return f"{failed}, last at {where}" if where else failed

    def _packed(self) -> bytes:
        """Return the bytes of its file, which can be loaded."""
        if self._content:
            return self._content
        for trace in self._recordings.pinned:
            if asked := trace.recording.asked_order:
                raise TypeError(
                    f"save: {self.__name__} asks for the memory order of its arguments ({asked}), which a file does not"
                    " look at; write order='C' or order='F'"
                )
        example = self._examples[0]
        args = example if type(example) is tuple else (example,)
        content = packed_function(self.__name__, args, self._returned, self.handle.specializations)
        try:
            StoredFunction(content)
        except DamagedFileError as error:
            raise TypeError(f"save: {self.__name__} has what a file does not hold: {error}") from None
        return content

    def __reduce__(self) -> Any:
        """Pickle it by content, as `save` writes it; where that cannot be, by the function and the examples."""
        try:
            return _unpickled, (self._packed(),)
        except (TypeError, ValueError):
            return Compiled, (self.function, self._examples, self._fuse)

    def __copy__(self) -> "Compiled":
        return self

    def __deepcopy__(self, memo: Any) -> "Compiled":
        return self

    def __repr__(self) -> str:
        inputs, results = (", ".join(map(_described, views)) for views in (self.inputs, self.results))
        count = len(self.handle.specializations)
        end = f", {count} specializations" if count > 1 else ""
        return f"<compiled {self.__name__}: ({inputs}) -> ({results}){end}>"

    def _repr_html_(self) -> str:
        rows = [("", "number", "shape and dtype")]
        for role, views in (("argument", self.inputs), ("result", self.results)):
            rows += [(role, str(k), _described(view)) for k, view in enumerate(views)]
        count = len(self.handle.specializations)
        return html_table(f"compiled {self.__name__}", rows, [f"specializations: {count}"])

    def _general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call it with any arguments."""
        try:
            return self._by_python(args, kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    def _by_python(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if thread.mode.no_fast_derivative:
            return self._outside(args, kwargs)
        result = self._call(*args, **kwargs)
        if not kwargs:
            self._fast = self._short.path(args) or self._fast
        return result

    @restoring
    def _outside(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call it in a mode that it takes no part in, such as where Tensors are recorded or differentiated."""
        thread.mode = NO_MODE
        return self._call(*args, **kwargs)


@functools.lru_cache(maxsize=16)
def _loaded(content: bytes) -> Compiled:
    """Return the compiled function of a file's bytes; the same object for the same bytes."""
    return Compiled._of(content)


def _unpickled(content: bytes) -> Compiled:
    return _checked(content, "a pickle")


def load(
    file: Any,
    mmap_mode: Any = None,
    allow_pickle: bool = False,
    fix_imports: bool = True,
    encoding: Any = "ASCII",
    *,
    max_header_size: int = 10000,
) -> Any:
    """Return a compiled function from a file that `Compiled.save` has written, and arrays from all others.

    Parameters
    ----------
    file : file-like object, str or os.PathLike
        A file's name, or what bytes are read from. What is no compiled function is read by NumPy.
    mmap_mode, allow_pickle, fix_imports, encoding, max_header_size
        Of arrays, as `numpy.load` has them. A compiled function takes none of them into account.

    Returns
    -------
    Compiled, or what `numpy.load` returns
        A compiled function computes bit for bit the same as the one that was saved, from Python, in functions of
        Numba's, and in C. The same file is loaded once.

    Raises
    ------
    ValueError
        If a compiled function's file is damaged, or of a later format.

    See Also
    --------
    compile : Makes compiled functions.

    Notes
    -----
    The file of a compiled function has numbers and names of instructions, no code and no addresses; all that it says is
    checked before anything is executed. How long it computes, and how much of this machine's memory it takes, is up to
    its author.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg, tempfile, pathlib
    >>> h = tg.compile(lambda x, y: {"product": x * y}, (np.zeros(2), 1.0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     h.save(pathlib.Path(folder, "product.tape"))
    ...     loaded = tg.load(pathlib.Path(folder, "product.tape"))
    >>> loaded(np.array([1.0, 2.0]), 3.0)
    {'product': array([3., 6.])}
    """
    content = _content_of(file)
    if content is not None:
        return _checked(content, getattr(file, "name", file))
    return np.load(
        file, mmap_mode, allow_pickle, fix_imports, encoding, max_header_size=max_header_size
    )  # fmt: skip


def _content_of(file: Any) -> bytes | None:
    """Return the bytes of a file that holds a compiled function, `None` for all others."""
    if isinstance(file, str | os.PathLike):
        with open(file, "rb") as stream:
            return _content_of(stream)
    if not (hasattr(file, "read") and hasattr(file, "seek")):
        return None
    start = file.tell()
    first = file.read(FIRST_BYTES)
    ours = isinstance(first, bytes) and is_ours(first)
    if isinstance(first, bytes) and not ours:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(start, end - LAST_BYTES))
        ours = is_ours(first, file.read())
    file.seek(start)
    content: bytes | None = file.read() if ours else None
    return content


def _checked(content: bytes, path: Any) -> Compiled:
    try:
        return _loaded(content)
    except DamagedFileError as error:
        raise ValueError(f"load: {path} holds no compiled function that can be loaded: {error}") from None


def _fused(function: Callable[..., Any], fuse: bool | None) -> bool:
    """Return whether programs are fused: by the argument, by ``jit(f, fuse=)`` or the environment, else True."""
    while fuse is None and isinstance(function, Transform):
        function = function.function
    if fuse is None and isinstance(function, Jit):
        fuse = function.fuse
    return fusion_of(fuse) != NEVER


def _rebuilt(function: Any, recordings: PinnedRecordings) -> Any:
    """Return the function, or the derivative of one, with its calls restricted to these recordings."""
    if isinstance(function, DerivativeTransform | Grad | Hessian):
        return type(function)(frozen(function.function, recordings), *function.settings)
    return frozen(function, recordings)


def _check_count(function: Any, args: tuple[Any, ...]) -> None:
    """Refuse an example with more or fewer arguments than the function takes."""
    own = args[:-1] if isinstance(function, HessianProduct) else args
    try:
        inspect.signature(function).bind(*own)
    except TypeError as error:
        name = name_of(function)
        raise TypeError(
            f"compile: an example for {name} does not have its arguments ({error}). Each argument of compile() after"
            f" the function is one example: the argument of {name}, or a tuple of all its arguments, as in"
            f" compile({name}, (x, y)). Several examples record several specializations"
        ) from None
    except ValueError:
        return  # it has no signature


def _handle(transform: Any, specializations: Sequence[tuple[PinnedRecording, list[Any]]]) -> Handle:
    """Return the handle of specializations, whose arguments and results must have the same specs."""
    first, leaves = specializations[0]
    arrays = [*first.arguments.arrays, *first.given]
    specs = [[(leaf.shape, leaf.dtype) for leaf in each] for _, each in specializations]
    for other in specs:
        if other != specs[0]:
            raise ValueError(
                f"compile: the examples return different shapes or dtypes, {_listed(specs[0])} and {_listed(other)};"
                " they must agree"
            )
    made = [specialization_of(transform, recorded, each) for recorded, each in specializations]
    inputs = [View.in_c_order(arrays[k].shape, arrays[k].dtype) for k in _positions(made[0].order)]
    return Handle(made, inputs, [View.in_c_order(leaf.shape, leaf.dtype) for leaf in leaves])


def compile_columns(function: Callable[..., Any], *args: Any, argnums: Any = 0) -> Handle:
    """Make the handle of a function of one array that leaves the columns of its Jacobian in the workspace.

    Its arguments are the arrays of `args`, and its result is the value. Compiled code finds the columns by
    `engine.sweep.replays.handle_calls.column`: one for each element that is differentiated by.
    """
    recordings = PinnedRecordings(f"the compiled {name_of(function)}", True)
    run = frozen(function, recordings)
    arguments = run.arguments(args, {})
    spec = ProgramSpec(COLUMNS, select(args, checked_argnums(argnums)).inputs(arguments), values=True)
    trace, (value, *_) = run.run(arguments, spec)
    if trace.only_output < 0:
        raise TypeError(f"{name_of(function)} must return one array that depends on its arguments")
    given = trace.program(spec).given
    specialization = Specialization(trace.program(spec), [Source(given)], list(range(given)))
    inputs = [View.in_c_order(array.shape, array.dtype) for array in arguments.arrays]
    return Handle([specialization], inputs, [View.in_c_order(value.shape, value.dtype)])


def _positions(order: list[int]) -> list[int]:
    """Return the binding of each argument."""
    return sorted(range(len(order)), key=order.__getitem__)


def _described(view: View) -> str:
    return f"{view.dtype} {view.shape}"


def _listed(specs: list[Any]) -> str:
    return ", ".join(f"{dtype} of shape {shape}" for shape, dtype in specs) or "nothing"


@hides_frames
def compile(function: Callable[..., Any], *examples: Any, fuse: bool | None = None) -> Compiled:
    """Record `function` for arguments like those of the examples, and make a value of it that needs no Python.

    Parameters
    ----------
    function : callable
        A function of arrays, numbers and structures of them, a ``jit(f)``, or what a transform has made of one:
        ``grad(f)``, ``value_and_grad(f)``, ``jacobian(f)``, ``hessian(f)``, ``hvp(f)``.
    *examples
        Arguments to record it with: for each outcome of its branches one argument, or a tuple of all arguments where
        there are several. An argument that is itself a tuple stands in one: ``((a, b),)``. All have the same shapes,
        dtypes and structure. For ``hvp(f)`` an example is ``(x, v)``.
    fuse : bool, optional
        Whether instructions over the same elements are compiled to one loop each. By default they are, unless
        ``jit(f, fuse=False)`` or the environment variable ``TAPEGRAD_FUSE`` says otherwise.

    Returns
    -------
    Compiled
        Called from Python it does what `function` does. Called in a function of Numba's, ``h(x, g)``, it takes the
        arrays of the arguments, then arrays for those results that are arrays, and returns those that are numbers.

    Raises
    ------
    TypeError
        When an example has another number of arguments than the function.
    ValueError
        Without an example, or when several examples return different shapes or dtypes.

    See Also
    --------
    jit : Records a function as it is called, and watches what it depends on.

    Notes
    -----
    A compiled function is a value. It has the specializations of its examples, and is not recorded again: where a guard
    of each one fails, it raises `UnrecordedWayError`, and `last_failure` says at which branch of the function. It does
    not look at its closure again: a number that is bound anew, or a dict that changes, makes no difference. Arrays of
    the closure are kept alive and read where they lie, so that a change of their contents is seen.

    It may be called by many threads at once. From Python large instructions run on several threads; from compiled code
    and C it stays on the thread of the caller.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> h = tg.compile(tg.value_and_grad(lambda x: tg.sum(x**2)), np.zeros(2))
    >>> h(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    >>> h
    <compiled <lambda>: (float64 (2,)) -> (float64 (), float64 (2,))>
    """
    if isinstance(function, Compiled):
        raise TypeError(f"compile: {function!r} is compiled already")
    check_function("compile", function)
    if not examples:
        raise ValueError("compile: there must be an example of the arguments: compile(f, x)")
    entries = of_arrays(function)
    made = Compiled(entries, examples, fuse)
    if entries is not function:
        example = examples[0] if type(examples[0]) is tuple else (examples[0],)
        made.pattern = function.pattern(*example)  # type: ignore[attr-defined]
    return made

"""Recursive filters: difference equations and cascades of sections, forwards, and forwards and backwards.

A filter runs as a loop whose carry is its state (the transposed direct form II, SciPy's), one iteration a sample of all
lines at once. Without a feedback it is a convolution.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.conversions.complex_views import made_complex, pairs_of, part_dtype
from tapegrad.frontend.functions.numerics.convolution import correlate_arrays
from tapegrad.frontend.functions.numerics.padding import pad
from tapegrad.frontend.functions.shapes.joining import stack
from tapegrad.frontend.recording.lists import holds_tensors
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import moveaxis
from tapegrad.frontend.tensor.modes import watch_now
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.loops.scan import scan
from tapegrad.signal.arguments import floats

_PADDING = {"odd": ("reflect", "odd"), "even": ("reflect", "even"), "constant": ("edge", None)}


def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter lines by a difference equation: ``sum(a[k] * y[n - k]) = sum(b[k] * x[n - k])``.

    Parameters
    ----------
    b, a : Tensor or array_like, of one dimension
        Coefficients of the numerator and the denominator, which ``a[0]`` divides.
    x : Tensor or array_like
        Lines.
    axis : int, default -1
        Axis of the lines.
    zi : Tensor or array_like, optional
        State before the first sample: along the axis ``max(len(a), len(b)) - 1`` elements, as `lfilter_zi` gives them;
        other axes broadcast. Zeros by default.

    Returns
    -------
    y : Tensor
        Of the shape of the lines.
    zf : Tensor
        State behind the last sample, if `zi` is given.

    Raises
    ------
    ValueError
        If the coefficients are not lines, or empty, or `zi` has another shape.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.signal.lfilter([1.0], [1.0, -0.5], np.array([1.0, 0.0, 0.0, 0.0]))
    Tensor([1.   , 0.5  , 0.25 , 0.125])
    >>> last = lambda a: tg.signal.lfilter([1.0], tg.stack([1.0, a]), np.array([1.0, 0.0, 0.0, 0.0]))[-1]
    >>> tg.grad(last)(-0.5)  # of (-a)**3
    np.float64(-0.75)
    """
    equation, line = _equation("lfilter", b, a, x)
    return _with_state("lfilter", _run_equation(equation), line, normalize_axis_index(axis, line.ndim), zi)


def lfilter_zi(b: Any, a: Any) -> Tensor:
    """Return the state of `lfilter` in which a constant line of ones has a constant result.

    Parameters
    ----------
    b, a : Tensor or array_like, of one dimension
        Coefficients of the numerator and the denominator.

    Returns
    -------
    Tensor, shape (max(len(a), len(b)) - 1,)
        State.

    Raises
    ------
    ValueError
        If the coefficients are not lines, or empty.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> zi = tg.signal.lfilter_zi([1.0, 1.0], [1.0, -0.5])
    >>> tg.signal.lfilter([1.0, 1.0], [1.0, -0.5], np.ones(3), zi=zi)[0]
    Tensor([4., 4., 4.])
    """
    equation, line = _equation("lfilter_zi", b, a, 1.0)
    return _joined(equation.steady(), line)


def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter lines by a cascade of sections of order two.

    Parameters
    ----------
    sos : Tensor or array_like, shape (n, 6)
        Coefficients of the sections: three of the numerator, three of the denominator, the first of which is 1.
    x : Tensor or array_like
        Lines.
    axis : int, default -1
        Axis of the lines.
    zi : Tensor or array_like, optional
        State before the first sample: of the shape of the lines, with two elements along the axis, behind a first axis
        of n. Zeros by default.

    Returns
    -------
    y : Tensor
        Of the shape of the lines.
    zf : Tensor
        State behind the last sample, if `zi` is given.

    Raises
    ------
    ValueError
        If `sos` or `zi` has another shape.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> sos = [[1.0, 0.0, 0.0, 1.0, -0.5, 0.0], [2.0, 0.0, 0.0, 1.0, 0.0, 0.0]]
    >>> tg.signal.sosfilt(sos, np.array([1.0, 0.0, 0.0]))
    Tensor([2. , 1. , 0.5])
    """
    sections, line = _sections("sosfilt", sos, x)
    return _with_state("sosfilt", _run_cascade(sections), line, normalize_axis_index(axis, line.ndim), zi)


def filtfilt(
    b: Any, a: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None,
    method: str = "pad", irlen: int | None = None,
) -> Tensor:  # fmt: skip
    """Filter lines forwards and backwards, which leaves phases as they are.

    Parameters
    ----------
    b, a : Tensor or array_like, of one dimension
        Coefficients of the numerator and the denominator.
    x : Tensor or array_like
        Lines.
    axis : int, default -1
        Axis of the lines.
    padtype : {'odd', 'even', 'constant', None}, default 'odd'
        Extension of the lines before filtering.
    padlen : int, optional
        Elements of the extension on each side, by default three times the number of coefficients.
    method : {'pad'}, default 'pad'
        Treatment of the ends. Gustafsson's method is not supported.
    irlen : int, optional
        Accepted; of Gustafsson's method.

    Returns
    -------
    Tensor
        Of the shape of the lines.

    Raises
    ------
    ValueError
        If the lines are not longer than the extension, and for unknown names.
    UnsupportedError
        For the method 'gust'.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> line = np.linspace(0.0, 3.0, 4)
    >>> tg.signal.filtfilt([0.5, 0.5], [1.0], line, padlen=2)
    Tensor([0., 1., 2., 3.])
    """
    if method not in ("pad", "gust"):
        raise ValueError(f"filtfilt: method must be 'pad' or 'gust', not {method!r}")
    if method == "gust":
        raise UnsupportedError("filtfilt: method='gust' is not supported; write method='pad'")
    equation, line = _equation("filtfilt", b, a, x)
    zi = _joined(equation.steady(), line)

    def run(extended: Tensor) -> Tensor:
        y: Tensor = equation.run(extended, zi.reshape(-1, *[1] * (extended.ndim - 1)) * extended[:1])[0]
        return y

    found: Tensor = _both_ways("filtfilt", run, line, axis, padtype, padlen, equation.order + 1)
    return found


def sosfiltfilt(
    sos: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None
) -> Tensor:
    """Filter lines forwards and backwards by a cascade of sections, which leaves phases as they are.

    Parameters
    ----------
    sos : Tensor or array_like, shape (n, 6)
        Coefficients of the sections.
    x, axis, padtype, padlen
        As for `filtfilt`.

    Returns
    -------
    Tensor
        Of the shape of the lines.

    Raises
    ------
    ValueError
        As by `filtfilt` and `sosfilt`.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.signal.sosfiltfilt([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]], np.linspace(0.0, 3.0, 4), padlen=2)
    Tensor([0., 1., 2., 3.])
    """
    sections, line = _sections("sosfiltfilt", sos, x)
    if padlen is None and padtype is not None:
        if _is_computed(sos):
            raise ValueError(
                "sosfiltfilt: the extension must not depend on a Tensor; give padlen= beside sos"
            )
        zeros = [sum(section[k] == 0 for section in sections) for k in (2, 5)]
        padlen = 3 * (2 * len(sections) + 1 - min(zeros))
    start, gain = [], 1.0
    for section in sections:
        own = DifferenceEquation(section[:3], section[3:])
        start += [each * gain for each in own.steady()]
        gain = gain * own.gain()
    zi = _joined(start, line)

    def run(extended: Tensor) -> Tensor:
        shape = (len(sections), 2, *[1] * (extended.ndim - 1))
        y: Tensor = _cascade(sections, extended, zi.reshape(shape) * extended[:1])[0]
        return y

    found: Tensor = _both_ways("sosfiltfilt", run, line, axis, padtype, padlen, 0)
    return found


# --- filters of lines along the first axis ---------------------------------------------------------------------


class DifferenceEquation:
    """A filter by its coefficients: numbers, or Tensors without dimensions.

    Parameters
    ----------
    b, a
        Coefficients of the numerator and the denominator, whose first one is 1; equally many.
    has_feedback
        False if all coefficients of the denominator behind the first one are zeros by their shape.
    """

    def __init__(self, b: Sequence[Any], a: Sequence[Any], has_feedback: bool = True) -> None:
        self._b, self._a, self._has_feedback = b, a, has_feedback
        self.order = len(b) - 1

    def gain(self) -> Any:
        """Return the constant that a line of ones becomes."""
        return sum(self._b) / sum(self._a)

    def steady(self) -> list[Any]:
        """Return the state in which a line of ones has a constant result."""
        gain, state = self.gain(), []
        total: Any = 0.0
        for b, a in zip(self._b[:0:-1], self._a[:0:-1], strict=True):
            total = total + (b - a * gain)
            state.append(total)
        return state[::-1]

    def run(self, x: Tensor, state: Any) -> tuple[Any, Any]:
        """Return the filtered lines, and the state behind the last sample."""
        if not self._has_feedback:
            return self._convolved(x, state)
        if state is None:
            state = np.zeros((self.order, *x.shape[1:]), x.dtype)
        last, y = scan(self._step, tuple([state[k] for k in range(self.order)]), x)
        return y, stack(list(last))

    def _step(self, z: tuple[Any, ...], x: Any) -> tuple[Any, Any]:
        b, a, top = self._b, self._a, self.order
        y = b[0] * x + z[0]
        kept = [z[k] + b[k] * x - a[k] * y for k in range(1, top)]
        return (*kept, b[top] * x - a[top] * y), y

    def _convolved(self, x: Tensor, state: Any) -> tuple[Any, Any]:
        n, order = x.shape[0], self.order
        weights = _joined(self._b, x).reshape(-1, *[1] * (x.ndim - 1))
        offset = (-order, *[0] * (x.ndim - 1))
        whole = correlate_arrays(x, weights, offset, (n + order, *x.shape[1:]), flipped=True)
        if state is not None and order:
            whole = whole + pad(state, ((0, n), *[(0, 0)] * (x.ndim - 1)))
        return whole[:n], whole[n:]


def _cascade(sections: Sequence[Sequence[Any]], x: Tensor, states: Any) -> tuple[Any, Any]:
    """Return the lines filtered by all sections, and the states behind the last sample."""
    count = len(sections)
    if states is None:
        states = np.zeros((count, 2, *x.shape[1:]), x.dtype)

    def step(z: tuple[Any, ...], x: Any) -> tuple[Any, Any]:
        kept: list[Any] = []
        for k, (b0, b1, b2, _, a1, a2) in enumerate(sections):
            y = b0 * x + z[2 * k]
            kept += [z[2 * k + 1] + b1 * x - a1 * y, b2 * x - a2 * y]
            x = y
        return tuple(kept), x

    last, y = scan(step, tuple([states[k, j] for k in range(count) for j in (0, 1)]), x)
    return y, stack(list(last)).reshape(count, 2, *x.shape[1:])


Runner = Callable[[str, Tensor, int, Any], tuple[Any, Any]]


def _with_state(name: str, run: Runner, line: Tensor, axis: int, zi: Any) -> Any:
    """Return filtered lines; with a state before the first sample, that behind the last one, too."""
    if zi is None:
        if line.dtype.kind == "c":
            return made_complex(run(name, pairs_of(line), axis, None)[0])
        return run(name, line, axis, None)[0]
    state = as_numbers(zi, f"tapegrad.signal.{name}")
    dtype = np.result_type(line.dtype, np.complex64) if state.dtype.kind == "c" else line.dtype
    line, state = line.astype(dtype, copy=False), state.astype(dtype, copy=False)
    if dtype.kind != "c":
        return run(name, line, axis, state)
    y, last = run(name, pairs_of(line), axis, pairs_of(state))
    return made_complex(y), made_complex(last)


def _run_equation(equation: DifferenceEquation) -> Runner:
    def run(name: str, line: Tensor, axis: int, zi: Any) -> tuple[Any, Any]:
        moved, shape = moveaxis(line, axis, 0), list(line.shape)
        if zi is None:
            return moveaxis(equation.run(moved, None)[0], 0, axis), None
        shape[axis] = equation.order
        if zi.ndim != line.ndim or any(n not in (1, m) for n, m in zip(zi.shape, shape, strict=True)):
            raise ValueError(
                f"{name}: zi has shape {zi.shape}, but lines of shape {line.shape} need {tuple(shape)}"
            )
        y, last = equation.run(moved, moveaxis(np.broadcast_to(zi, tuple(shape)), axis, 0))
        return moveaxis(y, 0, axis), moveaxis(last, 0, axis)

    return run


def _run_cascade(sections: Sequence[Sequence[Any]]) -> Runner:
    def run(name: str, line: Tensor, axis: int, zi: Any) -> tuple[Any, Any]:
        moved, shape = moveaxis(line, axis, 0), list(line.shape)
        shape[axis] = 2
        if zi is None:
            return moveaxis(_cascade(sections, moved, None)[0], 0, axis), None
        if zi.shape != (len(sections), *shape):
            raise ValueError(
                f"{name}: zi has shape {zi.shape}, but lines of shape {line.shape} need {(len(sections), *shape)}"
            )
        y, last = _cascade(sections, moved, moveaxis(zi, axis + 1, 1))
        return moveaxis(y, 0, axis), moveaxis(last, 1, axis + 1)

    return run


def _both_ways(
    name: str, run: Callable[[Tensor], Any], line: Tensor, axis: int, padtype: Any, padlen: Any, taps: int
) -> Any:
    """Return lines, extended at both ends, filtered forwards and backwards."""
    if padtype is not None and padtype not in _PADDING:
        raise ValueError(f"{name}: padtype must be 'even', 'odd', 'constant', or None, not {padtype!r}")
    axis = normalize_axis_index(axis, line.ndim)
    edge = 0 if padtype is None else 3 * taps if padlen is None else operator.index(padlen)
    if line.dtype.kind == "c":
        pairs = _both_ways(name, run, pairs_of(line), axis, padtype, edge, taps)
        return made_complex(pairs)
    if line.shape[axis] <= edge:
        raise ValueError(
            f"{name}: the length of the input, {line.shape[axis]}, must be greater than padlen, which is {edge}"
        )
    x = moveaxis(line, axis, 0)
    if edge > 0:
        mode, kind = _PADDING[padtype]
        widths = ((edge, edge), *[(0, 0)] * (x.ndim - 1))
        x = pad(x, widths, mode, **({"reflect_type": kind} if kind else {}))
    y = run(run(x)[::-1])[::-1]
    return moveaxis(y[edge : len(x) - edge], 0, axis)


# --- arguments -------------------------------------------------------------------------------------------------


def _equation(name: str, b: Any, a: Any, x: Any) -> tuple[DifferenceEquation, Tensor]:
    """Return the filter, and the lines in the dtype of all."""
    numerator, denominator, line = _coefficients_and_line(name, b, a, x)
    for argument, value in (("b", numerator), ("a", denominator)):
        if value.ndim > 1 or value.size == 0:
            raise ValueError(
                f"{name}: {argument} has shape {value.shape}, but must be a line that is not empty"
            )
    top, bottom = _numbers(b, numerator), _numbers(a, denominator)
    if isinstance(bottom[0], float) and bottom[0] == 0:
        raise ValueError(f"{name}: a[0] is 0")
    count, has_feedback = max(len(top), len(bottom)), len(bottom) > 1
    top, bottom = ([each / bottom[0] for each in values] for values in (top, bottom))
    zeros = [0.0] * count
    return DifferenceEquation((top + zeros)[:count], (bottom + zeros)[:count], has_feedback), line


def _sections(name: str, sos: Any, x: Any) -> tuple[list[list[Any]], Tensor]:
    """Return the coefficients of each section, and the lines in the dtype of all."""
    given, line = _coefficients_and_line(name, sos, x)
    if given.ndim != 2 or given.shape[1] != 6 or given.shape[0] == 0:
        raise ValueError(f"{name}: sos has shape {given.shape}, but must have the shape (n_sections, 6)")
    rows = _numbers(sos, given)
    for row in rows:
        if isinstance(row[3], float) and row[3] != 1:
            raise ValueError(f"{name}: sos[:, 3] should be all ones")
    return rows, line


def _coefficients_and_line(name: str, *values: Any) -> list[Tensor]:
    """Return coefficients as real numbers, and lines behind them, all in one precision."""
    given = [floats(as_numbers(value, f"tapegrad.signal.{name}")) for value in values]
    if any(each.dtype.kind == "c" for each in given[:-1]):
        raise UnsupportedError(
            f"{name}: coefficients must be real numbers, not complex128; write it by tapegrad.scan"
        )
    dtype = np.result_type(*[each.dtype for each in given])
    real = part_dtype(dtype)
    return [
        *[each.astype(real, copy=False) for each in given[:-1]],
        given[-1].astype(dtype if given[-1].dtype.kind == "c" else real, copy=False),
    ]


def _is_computed(value: Any) -> bool:
    """Return whether an argument is a Tensor, or a list with Tensors."""
    return is_tensor(value) or holds_tensors(value)


def _numbers(given: Any, value: Tensor) -> list[Any]:
    """Return coefficients as numbers if they were given as such, as Tensors otherwise; nested as their axes are."""
    if not _is_computed(given):
        if isinstance(given, np.ndarray):
            watch_now(given)
        return list(np.atleast_1d(np.asarray(given, value.dtype)).tolist())
    if value.ndim == 0:
        return [value]
    return [
        value[k] if value.ndim == 1 else [value[k, j] for j in range(value.shape[1])]
        for k in range(len(value))
    ]


def _joined(values: Sequence[Any], line: Tensor) -> Tensor:
    """Return real numbers and Tensors as a line in the precision of another one."""
    dtype = part_dtype(line.dtype)
    if not any(map(is_tensor, values)):
        return as_numbers(np.array(values, dtype), "tapegrad.signal")
    return stack([as_numbers(v if is_tensor(v) else np.asarray(v, dtype), "tapegrad.signal") for v in values])

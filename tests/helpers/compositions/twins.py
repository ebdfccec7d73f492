"""The transforms and loops that programs use, on plain arrays: Python loops, stacks, and difference stencils."""

import ast
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

STEP = 0.02
FIRST = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
SECOND = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
THIRD = np.array([-7 / 240, 3 / 10, -169 / 120, 61 / 30, 0, -61 / 30, 169 / 120, -3 / 10, 7 / 240])

_ROUNDING = 1e-11  # between elements that are equal all along a line
_MIN_LOGARITHM = -20.0  # of the determinant of a regular matrix

counts: list[int] = []  # of what is singular, in the order of the calls


def _distinct(found: Any, x: Any, *others: Any, axis: int | None = None, **options: Any) -> int:
    """Return how many elements of sorted lines differ from the next: those of a tie that moves apart are more."""
    steps = np.diff(np.sort(x, axis=axis), axis=-1 if axis is None else axis)
    return int(np.count_nonzero(steps > _ROUNDING))


def _attaining(found: Any, x: Any, axis: int | None = None, keepdims: bool = False, **options: Any) -> int:
    """Return how many elements attain the extreme value of their line."""
    extreme = found if axis is None or keepdims else np.expand_dims(found, axis)
    return _equal(found, x, extreme)


def _equal(found: Any, x: Any, y: Any, *others: Any, **options: Any) -> int:
    """Return how many elements of two operands are equal."""
    return int(np.count_nonzero(np.abs(x - y) <= _ROUNDING))


def _nonzero(found: Any, *operands: Any, **options: Any) -> int:
    """Return how many magnitudes or roots are not zero: beside a zero they have a kink, or an infinite slope."""
    return int(np.count_nonzero(found))


def _regular(found: Any, *operands: Any, **options: Any) -> int:
    """Refuse matrices that are singular but for rounding errors, whose determinants have no sign."""
    if np.any(found[1] < _MIN_LOGARITHM):
        raise np.linalg.LinAlgError("singular")
    return 0


_COUNTS: dict[str, Callable[..., int]] = {
    **dict.fromkeys(("unique", "sort", "partition", "median", "percentile", "quantile"), _distinct),
    **dict.fromkeys(("max", "min"), _attaining),
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin"), _equal),
    **dict.fromkeys(("abs", "fabs", "hypot", "norm", "std", "ptp", "sqrt"), _nonzero),
    "slogdet": _regular,
}


class Words:
    """The names of a module of NumPy; some functions write down how many elements are singular.

    Two zeros that move apart are one element of `unique` at a point and two beside it. The square of a root or of a
    magnitude is smooth at a zero, as is the product of the largest and the smallest of equal elements: the values go on
    smoothly, though a part has no derivative.
    """

    def __init__(self, module: Any = np) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if isinstance(found, ModuleType):
            found = Words(found)
        elif name in _COUNTS:
            found = _Counting(found, _COUNTS[name])
        setattr(self, name, found)  # not looked up again
        return found


class _Counting:
    """A function that writes down a count of its result and its operands."""

    def __init__(self, function: Any, count: Callable[..., int]) -> None:
        self._function, self._count = function, count

    def __call__(self, *operands: Any, **options: Any) -> Any:
        found = self._function(*operands, **options)
        counts.append(self._count(found, *operands, **options))
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)  # such as accumulate


class _WatchedPowers(ast.NodeTransformer):
    """Replacement of `x ** y` by `power(x, y)`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Replace a power, whose operands may have others."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow):
            return node
        return ast.copy_location(ast.Call(ast.Name("power", ast.Load()), [node.left, node.right], []), node)


def watched(text: str) -> ast.AST:
    """Return a text in which fractional powers write down how many elements are singular."""
    return ast.fix_missing_locations(_WatchedPowers().visit(ast.parse(text)))


def power(x: Any, y: Any) -> Any:
    """Return a power."""
    found = x**y
    if np.any(np.real(y) % 1):
        counts.append(_nonzero(found))
    return found


def with_counts(f: Callable[[], Any]) -> tuple[Any, tuple[int, ...]]:
    """Return what a function returns, and what was written down meanwhile."""
    before = len(counts)
    found, counted = f(), tuple(counts[before:])
    del counts[before:]
    return found, counted


def scan(f: Callable[..., Any], init: Any, xs: Any, reverse: bool = False) -> tuple[Any, Any]:
    """Return the last carry, and the results of all steps stacked."""
    carry, found = init, []
    for x in xs[::-1] if reverse else xs:
        after, y = f(carry, x)
        _check_alike(after, carry)
        carry = after
        found.append(y)
    return carry, np.stack(found[::-1] if reverse else found)


def fori_loop(lower: int, upper: int, body: Callable[[int, Any], Any], init: Any) -> Any:
    """Return what a body makes of a value for each number of a range."""
    value = init
    for i in range(lower, upper):
        after = body(i, value)
        _check_alike(after, value)
        value = after
    return value


def while_loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
    """Return what a body makes of a value as long as a condition holds, for 50 iterations at most."""
    value = init
    for _ in range(50):
        if not condition(value):
            return value
        after = body(value)
        _check_alike(after, value)
        value = after
    raise ValueError("the condition holds for ever")


def cond(predicate: Any, true: Callable[..., Any], false: Callable[..., Any], *operands: Any) -> Any:
    """Call one of two functions."""
    found, other = (true, false) if predicate else (false, true)
    result = found(*operands)
    _check_alike(other(*operands), result)
    return result


def vmap(f: Callable[..., Any]) -> Callable[..., Any]:
    """Map a function over the first axes of arrays."""
    return lambda *arrays: np.stack([f(*each) for each in zip(*arrays, strict=True)])


def jvp(f: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return value and derivative along a direction."""
    return f(*primals), _derivative(lambda t: f(*(x + t * d for x, d in zip(primals, tangents, strict=True))))


def grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return the gradient by the first argument, of which a complex one has the parts by x and y."""

    def gradient(x: Any, *others: Any) -> Any:
        slopes = [_derivative(lambda t, e=e: f(x + t * e, *others)) for e in _units(np.asarray(x))]
        return np.reshape(slopes, np.shape(x))

    return gradient


def hvp(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return the product of the Hessian and a vector."""
    return lambda x, v: _derivative(lambda t: grad(f)(x + t * v))


def _check_alike(a: Any, b: Any) -> None:
    """Refuse what the library refuses: a carry, or branches, of different shapes or dtypes."""
    if isinstance(a, tuple):
        for each in zip(a, b, strict=True):
            _check_alike(*each)
    elif np.shape(a) != np.shape(b) or np.asarray(a).dtype != np.asarray(b).dtype:
        raise TypeError("the shape or dtype changes")


def _derivative(f: Callable[[float], Any]) -> Any:
    """Return the derivative at zero by stencils of two steps, which must agree: else a kink is near."""
    coarse, fine = (_central(f, step) for step in (STEP, STEP / 2))
    for one, other in zip(coarse, fine, strict=True) if isinstance(coarse, tuple) else [(coarse, fine)]:
        if np.max(np.abs(one - other), initial=0.0) > 1e-5 * max(1.0, np.max(np.abs(one), initial=0.0)):
            raise ValueError("not smooth")
    return fine


def _central(f: Callable[[float], Any], step: float) -> Any:
    samples = [with_counts(lambda k=k: f((k - 4) * step)) for k in range(9)]  # type: ignore[misc]
    if len({counted for _, counted in samples}) > 1:
        raise ValueError("not smooth")
    values = [c * value for c, (value, _) in zip(FIRST, samples, strict=True) if c]
    return sum(values[1:], values[0]) / step


def _units(x: np.ndarray) -> Iterator[np.ndarray]:
    if np.iscomplexobj(x):
        raise TypeError("gradients inside of programs are by real numbers")
    yield from np.eye(x.size).reshape(-1, *x.shape)

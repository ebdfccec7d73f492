"""Drawing of programs: statements of a few features, each run on plain arrays as it is drawn."""

import itertools
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from helpers.compositions.program import NUMPY
from helpers.compositions.templates import FEATURES, OPERANDS

FIELD = re.compile(r"\{(\w+)(?:\.(\w+))?\}")
_VIEW = re.compile(r"(?:np\.[a-z_0-9]+\()?(\w+)(?:[\[,)]|\.\w+\b)")
_MAX_ELEMENTS, _MAX_MAGNITUDE, _MIN_MAGNITUDE, _MAX_DEPTH = 160, 60.0, 1e-9, 3
Namespace = dict[str, Any]


class Unavailable(Exception):
    """Raised where no operand of a kind can be had."""


def is_moderate(value: Any, min_elements: int = 1) -> bool:
    """Return whether a value is no array of numbers, or one of few and moderate ones."""
    if not isinstance(value, np.ndarray | np.generic):
        return True
    if value.dtype.kind not in "fc":
        return value.size <= _MAX_ELEMENTS
    size = np.abs(value)
    is_small = min_elements <= value.size <= _MAX_ELEMENTS and bool(np.all(size < _MAX_MAGNITUDE))
    return is_small and not _is_cancelled(value)


def _is_cancelled(value: Any) -> bool:
    """Return whether a part of an element is nothing but rounding errors."""
    least = _MIN_MAGNITUDE * np.minimum(np.abs(value), 1.0) if value.dtype.kind == "c" else _MIN_MAGNITUDE
    return any(bool(np.any((part != 0) & (np.abs(part) < least))) for part in (value.real, value.imag))


def is_floating(value: Any) -> bool:
    """Return whether a value is an array, or a number, of floats or complex numbers."""
    return isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fc"


def _is_writable(value: np.ndarray) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return value.flags.writeable
        except FutureWarning:  # of broadcast_arrays: elements share memory
            return False


def _is_square(value: Any) -> bool:
    return np.ndim(value) == 2 and value.shape[0] == value.shape[1] and 2 <= value.shape[0] <= 4


def _is_real(value: Any) -> bool:
    return value.dtype.kind == "f"


KINDS: dict[str, Callable[[Any], bool]] = {
    "a": lambda value: True,
    "x": _is_real,
    "y": _is_real,
    "v": lambda value: _is_real(value) and value.ndim == 1 and value.size >= 3,
    "t": lambda value: _is_real(value) and value.ndim >= 2 and min(value.shape) >= 2,
    "s": lambda value: _is_real(value) and value.ndim == 0,
    "m": lambda value: _is_real(value) and _is_square(value),
    "z": lambda value: not _is_real(value),
    "q": lambda value: not _is_real(value) and _is_square(value),
}


class Scope:
    """Statements that are drawn one after the other, and the values of their names.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where all choices come from.
    features : sequence of str
        Features that statements are drawn of.
    base : callable
        Returns a new namespace with what the statements may use.
    names : sequence of str
        Those values of the namespace that are operands.
    numbers : iterator of int
        Numbers of new names.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        features: Sequence[str],
        base: Callable[[], Namespace],
        names: Sequence[str],
        numbers: Iterator[int] | None = None,
    ) -> None:
        self.rng, self.features, self.base = rng, list(features), base
        self.numbers = numbers or itertools.count()
        self.names, self.fixed = list(names), frozenset(names)
        self.min_elements = 0 if "empties" in features else 1
        self.writable: list[str] = []
        self.lines: list[str] = []
        self.made: dict[str, int] = {}  # how many lines there were after the statement that made a name
        self.values = self.fresh()

    # --- running ---------------------------------------------------------------------------------------------------

    def fresh(self) -> Namespace:
        """Return a namespace after all statements so far."""
        values = self.base()
        run("\n".join(self.lines), values)
        return values

    def attempt(self, text: str, new: Sequence[str] = ()) -> bool:
        """Append a statement if NumPy takes it, and if all values stay moderate."""
        try:
            run(text, self.values)
            values = [self.values.get(name) for name in (*self.names, *new)]
            is_fine = all(is_moderate(value, self.min_elements) for value in values)
            done = is_fine and all(
                is_floating(self.values[name]) and self._is_in_c_order(name) for name in new
            )
        except Exception:  # whatever NumPy refuses is dropped
            done = False
        if not done:
            self.values = self.fresh()
            return False
        self.lines += text.splitlines()
        self.made |= dict.fromkeys(new, len(self.lines))
        self.writable += [name for name in new if self._is_own(name)]
        self.names += [name for name in new if name not in self.names]
        return True

    def is_read(self, name: str) -> bool:
        """Return whether a later statement has a name; a loop may have it several times itself."""
        return bool(re.search(rf"\b{name}\b", "\n".join(self.lines[self.made.get(name, 0) :])))

    def _is_in_c_order(self, name: str) -> bool:
        """Return whether an array is a view, or in C order, as the library's results are: else `ravel` copies it."""
        value = self.values[name]
        if not isinstance(value, np.ndarray) or value.flags.c_contiguous:
            return True
        others = (
            other for key, other in self.values.items() if key != name and isinstance(other, np.ndarray)
        )
        return any(np.may_share_memory(value, other) for other in others)

    def _is_own(self, name: str) -> bool:
        """Return whether a new array shares no memory with what may not be written to."""
        value = self.values[name]
        if not isinstance(value, np.ndarray) or not _is_writable(value):
            return False
        others = [self.values[other] for other in self.values if other not in (*self.writable, name)]
        return not any(
            isinstance(other, np.ndarray) and np.may_share_memory(value, other) for other in others
        )

    # --- choices ---------------------------------------------------------------------------------------------------

    def choose(self, options: Sequence[Any]) -> Any:
        """Return one of some options."""
        return options[int(self.rng.integers(len(options)))]

    def number(self) -> str:
        """Return a constant."""
        return str(self.choose([0.5, 1.3, -0.4, 0.2, 2.0, 0.7, -1.0]))

    def name(self, letter: str = "v") -> str:
        """Return a new name."""
        return f"{letter}{next(self.numbers)}"

    def operand(self, kind: str, like: Any = None, depth: int = 0) -> str:
        """Return a name or an expression of a kind, one that broadcasts with `like` if there is one."""
        found = [name for name in self.names if self._fits(name, kind, like)]
        if found and (self.rng.random() < 0.85 or kind not in OPERANDS):
            late = found[-4:] if self.rng.random() < 0.6 else found
            return str(self.choose(late))
        if kind == "y":
            return self.number() if self.rng.random() < 0.5 else self.operand("s", None, depth + 1)
        if kind not in OPERANDS or depth > _MAX_DEPTH:
            raise Unavailable(kind)
        return self._made(self.fill(self.choose(OPERANDS[kind]), depth + 1))

    def _made(self, text: str) -> str:
        """Give an operand that stands for one of a kind a name, which others find, too."""
        name = self.name()
        if not self.attempt(f"{name} = {text}{self._copied(text)}", [name]):
            raise Unavailable(text)
        return name

    def _fits(self, name: str, kind: str, like: Any) -> bool:
        value = self.values[name]
        if not is_floating(value) or not KINDS[kind](value):
            return False
        if like is None:
            return True
        try:
            return bool(np.prod(np.broadcast_shapes(np.shape(value), np.shape(like))) <= _MAX_ELEMENTS)
        except ValueError:
            return False

    # --- templates -------------------------------------------------------------------------------------------------

    def fill(self, template: str, depth: int = 0) -> str:
        """Return a template with all its fields filled."""
        known: dict[str, str] = {}

        def field(match: re.Match[str]) -> str:
            whole = match.group(0)
            if whole not in known or match.group(1) in ("c", "k", "part"):
                known[whole] = self._field(match.group(1), match.group(2), known, depth)
            return known[whole]

        return FIELD.sub(field, template)

    def _field(self, kind: str, of: str | None, known: dict[str, str], depth: int) -> str:
        operand = eval(known.get(f"{{{of}}}", "None"), self.values) if of else None
        if kind == "new":
            return self.name()
        if kind in _FITTING:
            return _FITTING[kind](self, operand)
        if kind == "c":
            return self.number()
        if kind == "k":
            return str(self.rng.integers(1, 4))
        if kind == "w":
            return str(self.choose(self.writable)) if self.writable else self._raise(kind)
        if kind == "K":
            constants = [name for name in self.values if re.fullmatch(r"K\d", name)]
            return str(self.choose(constants)) if constants else self._raise(kind)
        first = known.get("{x}", known.get("{w}"))
        like = eval(first, self.values) if kind[0] == "y" and first else None
        return self.operand(kind[0], like, depth)

    def _raise(self, kind: str) -> str:
        raise Unavailable(kind)

    def _key(self, operand: Any) -> str:
        """Return a basic key for an array."""
        parts = [self._key_part(extent) for extent in np.shape(operand)]
        parts = parts[: int(self.rng.integers(1, len(parts) + 1))] if parts else []
        if self.rng.random() < 0.15:
            parts.insert(int(self.rng.integers(len(parts) + 1)), "None")
        return ", ".join(parts) or "..."

    def _key_part(self, extent: int) -> str:
        start = int(self.rng.integers(0, max(extent - 1, 1)))
        stop = int(self.rng.integers(start + 1, extent + 1)) if extent else 0
        back = self.choose(["::-1", "::2", f"{start}:", f"{stop - 1}::-1", "1::2"])
        return str(
            self.choose([":", f"{start}:{stop}", back, f":{-1}", str(start - self.choose([0, extent]))])
        )

    def _part(self, operand: Any) -> str:
        """Return a key for an array whose shape is not known, or for this one."""
        return str(
            self.choose(["0", "1:3", "-1", ":2", "::2", "...", "1", "::-1", "[0, 1]", "..., 0", "-2:"])
        )

    def _rows(self, operand: Any) -> str:
        extent = max(np.shape(operand)[:1] or (1,))
        rows = self.rng.integers(-extent, extent, self.choose([2, 3]))
        return str(rows.tolist())

    def _at(self, operand: Any) -> str:
        """Return the value of an element: at the first point, what is less by it is zero there."""
        return repr(float(np.ravel(operand)[self.choose([0, 0, -1])]))

    def _axis(self, operand: Any) -> str:
        ndim = np.ndim(operand)
        return "None" if ndim == 0 or self.rng.random() < 0.3 else str(self.rng.integers(-ndim, ndim))

    # --- statements ------------------------------------------------------------------------------------------------

    def draw_statement(self, feature: str) -> bool:
        """Try a statement of a feature."""
        template = self.choose(FEATURES[feature])
        try:
            text = self.fill(template)
        except Exception:  # no operand fits
            return False
        if "\n" in template or template.startswith("{w}") or "out=" in template:
            news = [name for name in re.findall(r"^(v\d+) = ", text, re.MULTILINE) if name not in self.names]
            return self.attempt(text, news)
        name = self.name()
        return self.attempt(f"{name} = {text}{self._copied(text)}", [name]) or self.attempt(
            f"{name} = ({text}).copy()", [name]
        )

    def _copied(self, text: str) -> str:
        """Return what makes a copy of a view of one element: of an array it is a copy, and of a Tensor a view."""
        match = _VIEW.match(text)
        try:
            is_number = match and (
                np.ndim(eval(text, self.values)) == 0 or isinstance(self.values[match[1]], np.generic)
            )
        except Exception:  # refused where it is run
            is_number = False
        return " * 1.0" if is_number else ""

    def draw(self, count: int) -> None:
        """Draw statements until there are so many, or many were refused."""
        for _ in range(6 * count):
            if count <= 0:
                return
            count -= self.draw_statement(self.choose(self.features))

    def child(self, prefix: str, names: Sequence[str], writable: Sequence[str] = ()) -> "Scope":
        """Return a scope of statements inside of a block, where lines of `prefix` stand for what begins it."""

        def base() -> Namespace:
            values = self.fresh()
            run(prefix, values)
            return values

        plain = [feature for feature in self.features if feature in FEATURES]
        scope = Scope(self.rng, plain, base, names, self.numbers)
        scope.writable = list(writable)
        return scope


_FITTING: dict[str, Callable[[Scope, Any], str]] = {
    "key": Scope._key,
    "part": Scope._part,
    "rows": Scope._rows,
    "axis": Scope._axis,
    "at": Scope._at,
}


def run(text: str, values: Namespace) -> None:
    """Run statements on plain arrays."""
    with np.errstate(all="ignore"):
        exec(text, values)


def plain_namespace(
    arguments: dict[str, np.ndarray], constants: dict[str, np.ndarray]
) -> Callable[[], Namespace]:
    """Return a function that makes a namespace of copies of arrays and NumPy's words."""
    arrays = {**arguments, **constants}
    return lambda: {**NUMPY, **{name: np.copy(x)[()] for name, x in arrays.items()}}


def indented(lines: Sequence[str]) -> list[str]:
    """Return lines one level deeper."""
    return [f"    {line}" for line in lines]

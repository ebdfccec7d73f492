"""Table of the times of all functions, their means beside torch's, and the functions that cost too much.

A time is the lower quartile of its rounds: whatever else the machine does only adds to one.
"""

from collections.abc import Iterator
from math import exp, log

from perf.figures.base import Target
from perf.quantities import quantity
from tapegrad.testing.timer import Timing

SIZES = (10, 10_000, 1_000_000)
CONTENDERS = ("eager", "replay", "torch", "MyGrad")
DIRECTIONS = ("forward", "gradient")
TIMES_OF_AN_ADDITION = 3.0
TIMES_OF_TORCH = 1.5

# Why a function may be slower than torch's by more than that.
_NUMPYS = "computed by NumPy's own loop, which is not vectorised for float64 on every machine"
_SCIPYS = "computed by SciPy's loop, which is not vectorised"
_PASSES = "several instructions, each of which reads and writes memory once: they are not fused"
_ONE_LINE = "a single line is gone through by one thread"
_ONE_THREAD = "copied by one thread: only ops that go through loops are divided among several"
_BEGINS = "one thread writes the ones that the reverse sweep begins with, or the zeros that it adds to"
_SORTS = "sorts the whole line, where torch selects one element"
_BLAS = "OpenBLAS as NumPy calls it, whose threads wait for one another where other programs run"
_VIEWS = "torch returns a view where NumPy returns an array of its own"
_PYTHON = "a few microseconds of Python: nothing is computed"
REASONS: dict[str, str] = {
    **dict.fromkeys(("cos", "sin", "tan", "hypot", "logaddexp", "logaddexp2", "nextafter"), _NUMPYS),
    **dict.fromkeys(("floor_divide", "fmod", "remainder", "frexp"), _NUMPYS),
    **dict.fromkeys(("digamma", "erf", "erfc", "lgamma"), _SCIPYS),
    **dict.fromkeys(("nan_to_num", "nansum", "nanmean", "heaviside", "trapezoid"), _PASSES),
    **dict.fromkeys(("corrcoef", "kron", "tril", "triu"), _PASSES),
    **dict.fromkeys(("logsumexp", "log_softmax", "softmax", "prod", "std", "var"), _ONE_LINE),
    **dict.fromkeys(("take", "diagflat"), _ONE_THREAD),
    **dict.fromkeys(("add", "multiply", "concatenate", "stack", "vstack", "floor", "x[3]"), _BEGINS),
    **dict.fromkeys(("x.T", "matrix_transpose", "x[None]", "expand_dims"), _BEGINS),
    **dict.fromkeys(("atleast_1d", "atleast_2d", "atleast_3d"), _BEGINS),
    **dict.fromkeys(("dot", "inner", "matmul"), _BLAS),
    **dict.fromkeys(("median", "nanmedian"), _SORTS),
    **dict.fromkeys(("positive", "meshgrid"), _VIEWS),
    **dict.fromkeys(("dsplit", "hsplit"), _PYTHON),
    "unique": "NumPy sorts the elements, and the result's shape depends on them",
    "angle": "the arctan2 of zero, by NumPy's loop; torch compares with zero",
    "cumprod": "a recurrence, whose derivatives divide by no element: a product and a sum wait for the one before",
}
UNKNOWN = "no reason is known"

Times = dict[str, float]  # seconds by contender
Key = tuple[str, int, str]  # function, elements, direction


def name_of(key: Key, contender: str) -> str:
    """Return the name of a timing."""
    function, n, direction = key
    return f"{function}, {n:,}, {direction}, {contender}"


def times(timings: list[Timing]) -> dict[Key, Times]:
    """Seconds of each contender, by function, size and direction."""
    found: dict[Key, Times] = {}
    for timing in timings:
        function, n, direction, contender = timing.name.rsplit(", ", 3)
        found.setdefault((function, int(n.replace(",", "")), direction), {})[contender] = timing.low
    return found


def _of_torch(measured: Times, contender: str = "eager") -> float | None:
    """Return a contender's time divided by torch's, if both were measured."""
    if {contender, "torch"} <= measured.keys():
        return measured[contender] / measured["torch"]
    return None


def table(timings: list[Timing]) -> list[tuple[str, ...]]:
    """Return a row for each function and direction, sorted by name; last how often torch's time the eager one is."""
    found = times(timings)
    heads = [f"{n:.0e}".replace("e+0", "e") + f": {kind}" for n in SIZES for kind in CONTENDERS]
    rows: list[tuple[str, ...]] = [("function", "direction", *heads, "eager by torch at 1e6")]
    for function in sorted({function for function, _, _ in found}):
        for direction in DIRECTIONS:
            measured = [found.get((function, n, direction), {}) for n in SIZES]
            cells = [quantity(each.get(kind), "s") for each in measured for kind in CONTENDERS]
            rows.append((function, direction, *cells, quantity(_of_torch(measured[-1]), "")))
    return rows


def means(timings: list[Timing]) -> list[str]:
    """Return, for each size and direction, the geometric means of a function's time divided by torch's."""
    found, lines = times(timings), []
    for n in SIZES:
        for direction in DIRECTIONS:
            measured = [each for key, each in found.items() if key[1:] == (n, direction)]
            parts = [part for kind in CONTENDERS if kind != "torch" for part in _mean(measured, kind)]
            if parts:
                lines.append(f"{n:,} elements, {direction}, geometric mean by torch: {', '.join(parts)}")
    return lines


def _mean(measured: list[Times], contender: str) -> Iterator[str]:
    ratios = [ratio for each in measured if (ratio := _of_torch(each, contender)) is not None]
    if ratios:
        yield f"{contender} {exp(sum(map(log, ratios)) / len(ratios)):.2f} ({len(ratios)} functions)"


def slower(timings: list[Timing]) -> list[str]:
    """Return a line for each function that is slower than torch's at the largest size, with the reason if known."""
    ratios = [
        (_of_torch(each) or 0.0, name, direction)
        for (name, n, direction), each in times(timings).items()
        if n == SIZES[-1]
    ]
    return [
        f"{name}, {direction}: {ratio:.1f} times torch's: {REASONS.get(name, UNKNOWN)}"
        for ratio, name, direction in sorted(ratios, reverse=True)
        if ratio > TIMES_OF_TORCH
    ]


def targets(timings: list[Timing]) -> list[Target]:
    """Count the functions that cost too much: in Python at the smallest size, beside torch at the largest."""
    found = times(timings)
    addition = found.get(("add", SIZES[0], "forward"), {}).get("eager")
    costly = [
        name
        for (name, n, direction), each in found.items()
        if addition and n == SIZES[0] and direction == "forward"
        and each.get("eager", 0.0) > TIMES_OF_AN_ADDITION * addition
    ]  # fmt: skip
    unexplained = [line for line in slower(timings) if line.endswith(UNKNOWN)]
    return [
        Target("functions of 10 elements that take more than 3 additions eagerly", float(len(costly)), 0, ""),
        Target(
            "functions of 1e6 elements slower than torch's without a reason", float(len(unexplained)), 0, ""
        ),
    ]

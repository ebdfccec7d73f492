"""Numbers of the library loops and functions that kernels call by address through the table `loops`.

An entry is two words: the function and the data that it is given. Elementwise entries are NumPy's and
SciPy's own inner loops, which are several times faster than the C library's functions in a compiled
loop. BLAS entries are plain functions; their second word is 0.
"""

_UNARY = (
    "positive", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin",
    "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "floor", "ceil",
    "rint", "trunc", "sign", "erf", "erfc", "lgamma", "digamma",
)  # fmt: skip
_BINARY = ("add", "power", "arctan2", "hypot", "logaddexp", "logaddexp2", "zeta")
_TESTS = ("isnan", "isinf", "isfinite")
_COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")

# Library name -> signature of the loop, "d" standing for the element type of the kernel.
SIGNATURES: dict[str, str] = {
    **dict.fromkeys(_UNARY, "d->d"),
    **dict.fromkeys(_BINARY, "dd->d"),
    **dict.fromkeys(_TESTS, "d->?"),
    **dict.fromkeys(_COMPARISONS, "dd->?"),
    "absolute": "?->?",  # copies booleans
}
BLAS: tuple[str, ...] = ("dgemm", "sgemm", "ddot", "sdot", "dgemv", "sgemv")

_NAMES = (*SIGNATURES, *BLAS)
SIZE: int = 2 * len(_NAMES)  # entries, one for each element type; a BLAS function uses the first of its two


def entry(name: str, dtype: str = "d") -> int:
    """Number of library loop `name` for "d" (float64) or "f" (float32); `dtype` is not used for BLAS."""
    return 2 * _NAMES.index(name) + (dtype == "f")

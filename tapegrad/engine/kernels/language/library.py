"""Numbers of the library loops and functions that kernels call by address through the table `loops`.

An entry is two words: the function and the data that it is given. Elementwise entries are NumPy's and
SciPy's own inner loops, which are several times faster than the C library's functions in a compiled
loop. Entries of BLAS and LAPACK, and loops of the emitter, are plain functions; their second word is 0.
"""

# NumPy's functions by name. A function that a text of the table calls stands here, among SciPy's, or in the emitter's
# mathematics.
_UNARY = ("spacing",)
_BINARY = ("logaddexp2", "remainder", "fmod", "floor_divide", "nextafter")

# SciPy's functions by the names that texts use, with their names in `scipy.special._ufuncs`.
_SCIPY_UNARY = {
    "lgamma": "gammaln", "digamma": "psi", "riemann_zeta": "_riemann_zeta",
    **{name: name for name in (
        "erf", "erfc", "erfcx", "erfinv", "erfcinv", "ndtr", "log_ndtr", "ndtri", "logit", "log_expit", "entr",
        "exprel", "cosm1", "gamma", "rgamma", "gammasgn", "j0", "j1", "y0", "y1", "i0", "i1", "i0e", "i1e", "k0", "k1",
        "dawsn", "expi", "exp1", "ellipk", "ellipe",
    )},
}  # fmt: skip
_SCIPY_BINARY = {
    "zeta": "_zeta", "igam_fac": "_igam_fac",
    **{name: name for name in (
        "owens_t", "xlogy", "xlog1py", "rel_entr", "kl_div", "poch", "beta", "betaln", "gammainc", "gammaincc",
        "stdtr", "jv", "yv", "iv", "ive", "kv", "kve", "hyp0f1", "binom", "boxcox", "expn", "inv_boxcox", "huber",
        "pseudo_huber", "gammaincinv", "gammainccinv", "stdtrit",
    )},
}  # fmt: skip
_SCIPY_TERNARY = {name: name for name in ("betainc", "betaincc", "betaincinv", "betainccinv")}
SCIPY: dict[str, str] = {**_SCIPY_UNARY, **_SCIPY_BINARY, **_SCIPY_TERNARY}

# Library name -> signature of the loop, "d" standing for the element type of the kernel.
SIGNATURES: dict[str, str] = {
    **dict.fromkeys((*_UNARY, *_SCIPY_UNARY), "d->d"),
    **dict.fromkeys((*_BINARY, *_SCIPY_BINARY), "dd->d"),
    **dict.fromkeys(_SCIPY_TERNARY, "ddd->d"),
}
# Loops of the emitter that kernels written by hand call; `codegen.rows.adjacent_loops` says what they do.
LOOPS: tuple[str, ...] = ("log", "log1p", "add_exponentials", "write_shares")
BLAS: tuple[str, ...] = (
    "dgemm", "sgemm", "ddot", "sdot", "dgemv", "sgemv", "dtrsm", "strsm", "dtrsv", "strsv",
)  # fmt: skip
LAPACK: tuple[str, ...] = (
    "dgetrf", "sgetrf", "dgetri", "sgetri", "dpotrf", "spotrf", "dsyevd", "ssyevd", "dgesdd", "sgesdd", "dgeqrf",
    "sgeqrf", "dorgqr", "sorgqr", "dgeev", "sgeev", "dtrsyl", "strsyl", "dgees", "sgees",
)  # fmt: skip

_NAMES = (*SIGNATURES, *LOOPS, *BLAS, *LAPACK)
SIZE: int = 2 * len(
    _NAMES
)  # entries: of a loop of NumPy's or SciPy's one for each element type, of others the first


def entry(name: str, dtype: str = "d") -> int:
    """Return the number of library loop `name` for "d" (float64) or "f" (float32); NumPy and SciPy alone have both.

    Raises
    ------
    LookupError
        If there is no such function; the message says where to enter it.
    """
    if name not in _NAMES:
        raise LookupError(
            f"{name!r} is no function that kernels can call: enter it in engine/kernels/language/library.py,"
            " among NumPy's or with its name in scipy.special; or write it with functions that are there"
        )
    return 2 * _NAMES.index(name) + (dtype == "f")

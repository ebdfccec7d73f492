"""Numbers of the library loops and functions that kernels call by address through the table `loops`.

An entry is two addresses: a function, and its data. Elementwise entries are the inner loops of NumPy and SciPy, which
are several times faster than the C library's functions in a compiled loop, and loops of the same form over functions
that neither has. Entries of BLAS and LAPACK, and loops of the emitter, are plain functions; their second address is 0.
"""

# NumPy's functions by name. A function that a formula of the table calls is listed here, among SciPy's, or in the
# emitter's mathematics.
_UNARY = ("spacing",)
_BINARY = ("logaddexp2", "remainder", "fmod", "floor_divide", "nextafter")

# SciPy's functions: names in formulas, and names in `scipy.special._ufuncs`
_SCIPY_UNARY = {
    "lgamma": "gammaln", "digamma": "psi", "riemann_zeta": "_riemann_zeta",
    **{name: name for name in (
        "erf", "erfc", "erfcx", "erfinv", "erfcinv", "ndtr", "log_ndtr", "ndtri", "logit", "log_expit", "entr",
        "exprel", "cosm1", "gamma", "rgamma", "gammasgn", "j0", "j1", "y0", "y1", "i0", "i1", "i0e", "i1e", "k0", "k1",
        "dawsn", "expi", "exp1", "spence", "ellipk", "ellipe", "loggamma", "erfi", "exp10", "k0e", "k1e", "ellipkm1",
        "sindg", "cosdg", "tandg", "cotdg", "ndtri_exp", "wrightomega", "kolmogorov", "ber", "bei", "ker", "kei",
        "berp", "beip", "kerp", "keip",
    )},
}  # fmt: skip
# SciPy's functions of several results: the function by each, in their order
_SEVERAL = {
    "airy": ("airy_ai", "airy_ai_dot", "airy_bi", "airy_bi_dot"),
    "airye": ("airye_ai", "airye_ai_dot", "airye_bi", "airye_bi_dot"),
    "fresnel": ("fresnel_s", "fresnel_c"),
    "sici": ("sici_s", "sici_c"),
    "shichi": ("shichi_s", "shichi_c"),
}
_JACOBI = ("ellipj_sn", "ellipj_cn", "ellipj_dn", "ellipj_ph")
# Functions that are one result of such a function: its position
_IN_PLANE = {name: k for names in _SEVERAL.values() for k, name in enumerate(names)}
RESULTS: dict[str, int] = {**_IN_PLANE, **{name: k for k, name in enumerate(_JACOBI)}}
_SCIPY_UNARY |= {name: several for several, names in _SEVERAL.items() for name in names}
_SCIPY_BINARY = {
    "zeta": "_zeta",
    **{name: name for name in (
        "owens_t", "xlogy", "xlog1py", "rel_entr", "kl_div", "poch", "beta", "betaln", "gammainc", "gammaincc",
        "stdtr", "jv", "yv", "iv", "ive", "kv", "kve", "jve", "yve", "hyp0f1", "binom", "boxcox", "expn",
        "inv_boxcox", "huber", "pseudo_huber", "gammaincinv", "gammainccinv", "stdtrit", "boxcox1p", "inv_boxcox1p",
        "powm1", "agm", "struve", "modstruve", "ellipkinc", "ellipeinc", "tklmbda",
    )},
    **dict.fromkeys(_JACOBI, "ellipj"),
}  # fmt: skip
_SCIPY_TERNARY = {
    "ncx2_pdf": "_ncx2_pdf",
    **{name: name for name in (
        "betainc", "betaincc", "betaincinv", "betainccinv", "radian", "hyp1f1", "hyperu", "fdtri",
        "chndtr", "lpmv",
    )},
}  # fmt: skip
# Functions of which operands are whole numbers, as degrees and orders are: they have a loop over integers
_OF_DEGREE_AND_ONE = {
    "smirnov_slope": "_smirnovp", "smirnov": "smirnov",
    **{f"spherical_{kind}n": f"_spherical_{kind}n" for kind in "jyik"},
    **{f"eval_{name}": f"eval_{name}" for name in ("legendre", "chebyt", "chebyu", "hermite", "hermitenorm")},
}  # fmt: skip
_OF_DEGREE_AND_TWO = {name: name for name in ("eval_genlaguerre", "eval_gegenbauer")}
_OF_TRIALS = {name: name for name in ("bdtr", "bdtrc", "nbdtr", "nbdtrc")}
OF_DEGREE: dict[str, str] = {
    **dict.fromkeys(_OF_DEGREE_AND_ONE, "ld->d"),
    **dict.fromkeys(_OF_DEGREE_AND_TWO, "ldd->d"),
    **{name: "lld->d" if name[0] == "n" else "dld->d" for name in _OF_TRIALS},
}
MAX_DEGREE = 1e9  # a degree or an order as large, or a negative one, gives nan
_SCIPY_BINARY |= _OF_DEGREE_AND_ONE
_SCIPY_TERNARY |= _OF_DEGREE_AND_TWO | _OF_TRIALS
SCIPY: dict[str, str] = {**_SCIPY_UNARY, **_SCIPY_BINARY, **_SCIPY_TERNARY}

# Functions of `kernels.special`: the module of each
_COMPILED_BINARY = {
    "igam_fac": "factors",
    **dict.fromkeys(
        ("igam_a", "igam_aa", "igam_left", "igam_right", "log_gammainc", "log_gammaincc"), "incomplete_gamma"
    ),
    **dict.fromkeys(
        ("student_df", "student_df_df", "student_score", "student_left", "log_stdtr"), "students_t"
    ),
}
_COMPILED_TERNARY = {
    "ibeta_fac": "factors",
    **dict.fromkeys(
        (
            "ibeta_a",
            "ibeta_b",
            "ibeta_aa",
            "ibeta_ab",
            "ibeta_bb",
            "ibeta_left",
            "log_betainc",
            "log_betaincc",
        ),
        "incomplete_beta",
    ),
    **dict.fromkeys(("hyp1f1_a", "hyp1f1_b", "hyp1f1_aa", "hyp1f1_ab", "hyp1f1_bb"), "confluent"),
    **dict.fromkeys(("elliptic_first", "elliptic_second"), "elliptic"),
}
COMPILED: dict[str, str] = {**_COMPILED_BINARY, **_COMPILED_TERNARY}

# Signature of the loop by library name; "d" is the element type of the kernel
SIGNATURES: dict[str, str] = {
    **dict.fromkeys((*_UNARY, *_SCIPY_UNARY), "d->d"),
    **dict.fromkeys((*_BINARY, *_SCIPY_BINARY, *_COMPILED_BINARY), "dd->d"),
    **dict.fromkeys((*_SCIPY_TERNARY, *_COMPILED_TERNARY), "ddd->d"),
}
# NumPy's loops of pocketfft: generalised, over lines of one length to lines of another; "D" is complex
TRANSFORMS: dict[str, str] = {
    **dict.fromkeys(("fft", "ifft"), "Dd->D"),
    **dict.fromkeys(("rfft_n_even", "rfft_n_odd"), "dd->D"),
    "irfft": "Dd->d",
}
# Signatures of SciPy's loops over complex numbers, "D" being their type; orders are real, "d". Their names in
# `scipy.special._ufuncs` are those of the loops over real numbers but for the logarithm of gamma, which is continued
# into the plane by another function, and for functions that have no loop over real numbers.
COMPLEX_SIGNATURES: dict[str, str] = {
    **dict.fromkeys(
        (
            "erf", "erfc", "erfcx", "ndtr", "log_ndtr", "dawsn", "expi", "exp1", "spence", "lgamma", "digamma", "gamma",
            "rgamma", "loggamma", "erfi", "wofz", *_IN_PLANE,
        ),
        "D->D",
    ),
    "xlog1py": "DD->D",
    **dict.fromkeys(
        (
            "jv", "yv", "iv", "ive", "kv", "kve", "jve", "yve", "hankel1", "hankel2", "hankel1e", "hankel2e",
            "hyp0f1",
        ),
        "dD->D",
    ),
}  # fmt: skip
COMPLEX_SCIPY: dict[str, str] = {name: SCIPY.get(name, name) for name in COMPLEX_SIGNATURES}
COMPLEX_SCIPY["lgamma"] = "loggamma"

# Loops of the emitter that kernels written by hand call (see `codegen.rows.adjacent_loops`)
LOOPS: tuple[str, ...] = ("log", "log1p", "add_exponentials", "write_shares")
# Functions that compute a part of a large call, whose second field is the number of parts: the module of each. Both
# fields are 0 where BLAS takes threads of its own.
PARTS: dict[str, str] = {
    **dict.fromkeys(
        ("product_part_f64", "product_part_f32", "product_part_c128", "product_part_c64"), "matmul"
    ),
    **dict.fromkeys(
        ("solution_part_f64", "solution_part_f32", "solution_part_c128", "solution_part_c64"), "lapack"
    ),
}
# The pool's function that shares such parts among threads, and the address of its control block; 0 until it is loaded
_POOL = ("share_parts",)
BLAS: tuple[str, ...] = (
    "dgemm", "sgemm", "ddot", "sdot", "dgemv", "sgemv", "dtrsm", "strsm", "dtrsv", "strsv", "dsyrk", "ssyrk",
    "dsymm", "ssymm", "zgemm", "cgemm", "zgemv", "cgemv", "ztrsm", "ctrsm", "ztrsv", "ctrsv",
)  # fmt: skip
LAPACK: tuple[str, ...] = (
    "dgetrf", "sgetrf", "dgetri", "sgetri", "dpotrf", "spotrf", "dsyevd", "ssyevd", "dgesdd", "sgesdd", "dgeqrf",
    "sgeqrf", "dorgqr", "sorgqr", "dgeev", "sgeev", "dtrsyl", "strsyl", "dgees", "sgees", "dpotri", "spotri",
    "zgetrf", "cgetrf", "zgetri", "cgetri", "zpotrf", "cpotrf", "zheevd", "cheevd", "zgesdd", "cgesdd", "zgeqrf",
    "cgeqrf", "zungqr", "cungqr", "zgeev", "cgeev", "zgees", "cgees", "ztrsyl", "ctrsyl",
)  # fmt: skip

# Functions of Fortran: the module of SciPy that has their addresses
FORTRAN: dict[str, str] = {**dict.fromkeys(BLAS, "cython_blas"), **dict.fromkeys(LAPACK, "cython_lapack")}

_NAMES = (*SIGNATURES, *TRANSFORMS, *LOOPS, *BLAS, *LAPACK, *PARTS, *_POOL)
_COMPLEX_NAMES = tuple(COMPLEX_SIGNATURES)
# Entries: loops over elements have one for each element type, other functions use the first
_REAL_SIZE = 2 * len(_NAMES)
SIZE: int = _REAL_SIZE + 2 * len(_COMPLEX_NAMES)


def entry(name: str, dtype: str = "d") -> int:
    """Return the number of library loop `name` for "d" (float64), "f" (float32), "D" (complex128) or "F" (complex64).

    Only loops over elements have several.

    Raises
    ------
    LookupError
        If no function has this name. The message names the file to add it to.
    """
    if dtype in "DF" and name in _COMPLEX_NAMES:
        return _REAL_SIZE + 2 * _COMPLEX_NAMES.index(name) + (dtype == "F")
    if dtype in "DF" or name not in _NAMES:
        raise LookupError(
            f"{name!r} is no function of {_KINDS[dtype]} numbers that kernels can call: enter it in"
            " engine/kernels/language/library.py, among NumPy's or with its name in scipy.special; or write it with"
            " functions that are there"
        )
    return 2 * _NAMES.index(name) + (dtype == "f")


_KINDS = {"d": "real", "f": "real", "D": "complex", "F": "complex"}

"""Replacements of SciPy functions that convert Tensors to arrays before any protocol applies."""

import sys

_FACES = {
    "scipy.integrate": "tapegrad.integrate",
    "scipy.interpolate": "tapegrad.interpolate",
    "scipy.linalg": "tapegrad.linalg",
    "scipy.ndimage": "tapegrad.ndimage",
    "scipy.signal": "tapegrad.signal",
    "scipy.special": "tapegrad.special",
    "scipy.stats": "tapegrad.stats",
}
_COMPRESSED = (
    "((t, indices, indptr), shape=shape), or tapegrad.sparse.coo_array((t, (rows, columns)), shape=shape)"
)
_DISTANCE = "scipy.spatial.distance"
# Replacements as expressions in the arguments of SciPy's functions. Other names are defined behind ``with``; the text
# behind a final comma says what the expression computes.
EXPRESSIONS = {
    **{f"{_DISTANCE}.{name}": f"tapegrad.linalg.{name}" for name in ("cdist", "pdist")},
    f"{_DISTANCE}.directed_hausdorff": "tapegrad.max(tapegrad.min(tapegrad.linalg.cdist(u, v), 1))",
    f"{_DISTANCE}.jensenshannon": (
        "tapegrad.sqrt((tapegrad.stats.entropy(p, m) + tapegrad.stats.entropy(q, m)) / 2)"
        " with m = (p / p.sum() + q / q.sum()) / 2"
    ),
    f"{_DISTANCE}.squareform": "tapegrad.linalg.cdist(x, x), for all distances of x as a matrix",
    # Of NumPy's names, those that by default compute something else by SciPy's
    "scipy.linalg.cholesky": "tapegrad.linalg.cholesky(a, upper=not lower)",
    "scipy.linalg.qr": "tapegrad.linalg.qr(a, 'complete'), for the mode 'full'; 'economic' is 'reduced'",
    "scipy.linalg.companion": ("tapegrad.concatenate([-a[None, 1:] / a[0], np.eye(len(a) - 2, len(a) - 1)])"),
    "scipy.linalg.convolution_matrix": ("tapegrad.linalg.toeplitz(tapegrad.pad(a, (0, n - 1)), np.zeros(n))"),
    "scipy.linalg.diagsvd": "tapegrad.pad(tapegrad.diag(s), ((0, M - len(s)), (0, N - len(s))))",
    **{
        f"scipy.linalg.{name}": (
            f"tapegrad.linalg.{ours}(m) with m = sum(tapegrad.diag(a_band[k, : a_band.shape[1] - k], -k)"
            " for k in range(len(a_band))), of lower bands"
        )
        for name, ours in (("eig_banded", "eigh"), ("eigvals_banded", "eigvalsh"))
    },
    "scipy.linalg.eigh_tridiagonal": "tapegrad.linalg.eigh(tapegrad.diag(d) + tapegrad.diag(e, -1))",
    "scipy.linalg.eigvalsh_tridiagonal": "tapegrad.linalg.eigvalsh(tapegrad.diag(d) + tapegrad.diag(e, -1))",
    "scipy.linalg.expm_frechet": "tapegrad.jvp(tapegrad.linalg.expm, (A,), (E,))",
    "scipy.linalg.fiedler": "abs(a[:, None] - a)",
    "scipy.linalg.fractional_matrix_power": "tapegrad.linalg.expm(t * tapegrad.linalg.logm(A))",
    "scipy.linalg.funm": "(v * func(w)) @ v.T with w, v = tapegrad.linalg.eigh(A), of a symmetric matrix",
    "scipy.linalg.khatri_rao": "tapegrad.reshape(a[:, None] * b, (-1, a.shape[1]))",
    "scipy.linalg.kron": "tapegrad.kron(a, b)",
    "scipy.linalg.leslie": (
        "tapegrad.concatenate([f[None], tapegrad.pad(tapegrad.diag(s), ((0, 0), (0, 1)))])"
    ),
    "scipy.linalg.matmul_toeplitz": "tapegrad.linalg.toeplitz(*c_or_cr) @ x",
    "scipy.linalg.null_space": "np.eye(A.shape[1]) - tapegrad.linalg.pinv(A) @ A, for the projection to that space",
    "scipy.linalg.orth": "A @ tapegrad.linalg.pinv(A), for the projection to that space",
    "scipy.linalg.orthogonal_procrustes": (
        "m @ tapegrad.linalg.inv(tapegrad.linalg.sqrtm(m.T @ m)) with m = A.T @ B, for the rotation"
    ),
    "scipy.linalg.pinvh": "tapegrad.linalg.pinv(a, hermitian=True, rtol=None)",
    "scipy.linalg.polar": "(a @ tapegrad.linalg.inv(p), p) with p = tapegrad.linalg.sqrtm(a.conj().T @ a)",
    **{
        f"scipy.linalg.qr_{name}": "tapegrad.linalg.qr(a), of the changed matrix"
        for name in ("delete", "insert", "update")
    },
    "scipy.linalg.qr_multiply": "c @ tapegrad.linalg.qr(a)[0], for the product",
    "scipy.linalg.rq": "(r.T[::-1, ::-1], q.T[::-1]) with q, r = tapegrad.linalg.qr(a[::-1].T)",
    "scipy.linalg.signm": "A @ tapegrad.linalg.inv(tapegrad.linalg.sqrtm(A @ A))",
    "scipy.linalg.solve_circulant": "tapegrad.linalg.solve(tapegrad.linalg.circulant(c), b)",
    "scipy.linalg.subspace_angles": (
        "tapegrad.arccos(tapegrad.linalg.svdvals(tapegrad.linalg.qr(A)[0].conj().T @ tapegrad.linalg.qr(B)[0]))[::-1]"
    ),
    "scipy.integrate.trapezoid": "tapegrad.trapezoid(y, x)",
    # Of linear functions of a vector: the constant matrix, by SciPy
    "scipy.integrate.simpson": "y @ scipy.integrate.simpson(np.eye(len(y)), x), for a vector y, and a constant x",
    **{
        f"scipy.signal.{name}": f"scipy.signal.{name}(np.eye(len({x})){others}, axis=0) @ {x}, for a vector"
        for name, x, others in (
            ("detrend", "data", ""),
            ("resample_poly", "x", ", up, down"),
            ("savgol_filter", "x", ", window_length, polyorder"),
        )
    },
}
# Of functions that make sparse matrices: those with computed entries.
_ASSEMBLED = {
    **{
        f"scipy.sparse.{form}_{kind}": f"tapegrad.sparse.{form}_array{_COMPRESSED}"
        for form in ("csr", "csc")
        for kind in ("array", "matrix")
    },
    **{
        f"scipy.sparse.{form}_{kind}": "tapegrad.sparse.coo_array((t, (rows, columns)), shape=shape)"
        for form in ("bsr", "coo", "dok", "lil")
        for kind in ("array", "matrix")
    },
    **{
        f"scipy.sparse.{name}": "tapegrad.sparse.diags_array([t, u], offsets=[0, 1], shape=shape), of each diagonal"
        for name in ("dia_array", "dia_matrix", "diags", "diags_array", "spdiags")
    },
    **{
        f"scipy.sparse.{name}": f"tapegrad.sparse.{name}, of sparse matrices"
        for name in ("hstack", "kron", "vstack")
    },
    **{f"scipy.sparse.{name}": "tapegrad.sparse.block_array(blocks)" for name in ("block_array", "bmat")},
    "scipy.sparse.block_diag": "tapegrad.sparse.block_array([[A, None], [None, B]])",
    "scipy.sparse.kronsum": "tapegrad.sparse.kron(I, A) + tapegrad.sparse.kron(B, J)",
}
# Methods of SciPy's sparse matrices.
_SPARSE_METHODS = {
    "dot": "; write S @ t",
    "maximum": "; write np.maximum(S.toarray(), t)",
    "minimum": "; write np.minimum(S.toarray(), t)",
    "multiply": "; write tapegrad.sparse.csr_array(S).multiply(t), or of numbers t * S",
    "setdiag": "; write S - scipy.sparse.diags_array(S.diagonal()) + tapegrad.sparse.diags_array(t)",
}
# Counts and predicates.
CONSTANTS = frozenset((
    *(f"scipy.linalg.{name}" for name in ("bandwidth", "ishermitian", "issymmetric")),
    *(f"{_DISTANCE}.{name}" for name in (
        "dice", "hamming", "is_valid_dm", "is_valid_y", "jaccard", "num_obs_dm", "num_obs_y", "rogerstanimoto",
        "russellrao", "sokalmichener", "sokalsneath", "yule",
    )),
))  # fmt: skip


def remedy_of_method(name: str) -> str:
    """Return the sentence on a method of a distribution, such as `scipy.stats.norm.logpdf`: what to write instead."""
    _, _, distribution, method = name.split(".")
    ours = sys.modules.get("tapegrad.stats")
    if distribution.startswith("_"):
        return (
            "Distributions made by scipy.stats.make_distribution, such as Normal, take no Tensors: write those of"
            " tapegrad.stats, with the parameters as arguments of their methods. "
        )
    own = getattr(ours, distribution, None)
    if own is None:
        return (
            f"tapegrad.stats has no {distribution}: write {method} with tapegrad's functions, as those of"
            " tapegrad.special. "
        )
    if not hasattr(own, method):
        return f"tapegrad.stats.{distribution} has no {method}: write it with tapegrad's functions. "
    return (
        f"Write tapegrad.stats.{distribution}.{method} for {name}, or call that inside of"
        " `with tapegrad.in_place_of_scipy():`. "
    )


def remedy(name: str) -> str:
    """Return the replacement of a SciPy function, the end of a sentence; empty if none is known."""
    if name in CONSTANTS:
        return f"; its result has no derivative: write {name}(t.data)"
    if name in EXPRESSIONS:
        return f"; write {EXPRESSIONS[name]}"
    if name.startswith("numpy.polynomial."):
        return "; write tapegrad.polynomial for numpy.polynomial: it has NumPy's code, and takes Tensors"
    module, _, short = name.rpartition(".")
    if f"{module}.".startswith("scipy.sparse."):
        return f"; write {_ASSEMBLED[name]}" if name in _ASSEMBLED else _SPARSE_METHODS.get(short, "")
    face = _FACES.get(module, "")
    if hasattr(sys.modules.get(face), short):
        is_numpys = hasattr(sys.modules.get(f"numpy.{module.removeprefix('scipy.')}"), short)
        return f"; write {face}.{short}{', which takes the arguments of NumPy' if is_numpys else ''}"
    return f"; write tapegrad.linalg.cdist(u[None], v[None], {short!r})[0, 0]" if module == _DISTANCE else ""

"""Sparse Cholesky factors on grids beside SciPy's `splu` and, if cvxopt is installed, CHOLMOD.

The pattern is analysed beforehand, but by `splu`, which keeps nothing between calls. BLAS has threads of its own:
``OPENBLAS_NUM_THREADS=1 python -m perf linalg-sparse`` compares one thread with one.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import splu

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable, load, tapegrad
from perf.workloads import Answer
from tapegrad.testing.timer import Contender, Timing, race


def _grid(m: int) -> Any:
    line = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(m, m))
    return scipy.sparse.csr_array(scipy.sparse.kronsum(line, line) + 0.1 * scipy.sparse.eye_array(m * m))


MATRICES: dict[str, Callable[[], Any]] = {
    "chain of 10,000": lambda: scipy.sparse.diags_array(
        [-1.0, 2.1, -1.0], offsets=[-1, 0, 1], shape=(10_000, 10_000)
    ).tocsr(),
    "13 points, 100 by 100": lambda: scipy.sparse.csr_array(_grid(100) @ _grid(100)),
    "5 points, 316 by 316": lambda: _grid(316),
}


def _cholmod(lower: Any) -> Contender | None:
    """Return CHOLMOD's supernodal factorisation, if there is one."""
    try:
        cvxopt, cholmod = load("cvxopt"), load("cvxopt.cholmod")
    except Unavailable:
        return None
    cholmod.options["supernodal"] = 2
    stored = lower.tocoo()
    matrix = cvxopt.spmatrix(stored.data.tolist(), stored.row.tolist(), stored.col.tolist(), stored.shape)
    factor = cholmod.symbolic(matrix)
    return Contender(
        "CHOLMOD", partial(cholmod.numeric, matrix, factor), lambda _: (_logdet(cholmod, factor),)
    )


def _logdet(cholmod: Any, factor: Any) -> float:
    return 2.0 * float(np.sum(np.log(np.array(cholmod.diag(factor)))))


def _entries(matrix: Any) -> tuple[list[Contender], list[Answer]]:
    """Return the contenders on a matrix, and what each must give."""
    library, lower = tapegrad(), scipy.sparse.tril(matrix).tocsr()
    cholesky, entries = library.linalg.SparseCholesky(lower), library.tensor(lower.data, constant=True)
    factor = cholesky.factor(entries)
    logdet, inverse = factor.logdet().data, factor.inverse_on_pattern().data
    right = library.tensor(np.ones(cholesky.n), constant=True)
    solution = factor.solve(right).data
    options = {"SymmetricMode": True}
    by_columns = scipy.sparse.csc_matrix(matrix)
    superlu = partial(splu, by_columns, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    contenders = [
        Contender("factor", lambda: cholesky.factor(entries), lambda found: (found.logdet().data,)),
        Contender("inverse on the pattern", factor.inverse_on_pattern, lambda found: (found.data,)),
        Contender("solve", lambda: factor.solve(right), lambda found: (found.data,)),
        Contender("SciPy's splu", superlu, lambda found: (np.log(np.abs(found.U.diagonal())).sum(),)),
    ]
    answers: list[Answer] = [(logdet,), (inverse,), (solution,), (logdet,)]
    if (other := _cholmod(lower)) is not None:
        contenders.append(other)
        answers.append((logdet,))
    return contenders, answers


def _measure(settings: Settings) -> Outcome:
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    timings: list[Timing] = []
    targets: list[Target] = []
    for name in list(MATRICES)[: settings.fewer(3, 2)]:
        own = race(*_entries(MATRICES[name]()), settings.budget)
        medians = {timing.name: timing.median for timing in own}
        ratio = medians["inverse on the pattern"] / medians["factor"]
        targets.append(Target(f"inverse in factorisations: {name}", ratio, 2.0, "x"))
        if "CHOLMOD" in medians:
            targets.append(
                Target(f"times CHOLMOD's: {name}", medians["factor"] / medians["CHOLMOD"], 1.8, "x")
            )
        timings += [Timing(f"{name}: {t.name}", t.median, t.low, t.high, t.rounds, t.calls) for t in own]
    return Outcome(targets, timings)


SPARSE_SYSTEMS = (Figure("linalg-sparse", "Sparse Cholesky factors beside SciPy and CHOLMOD", _measure),)

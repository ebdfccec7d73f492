"""Sums over parts: what a part costs by each engine, and how fast parts are read out of a file."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable, load, tapegrad
from perf.workloads import Answer, Array
from tapegrad.testing.timer import Contender, race

_COUNTS = (2, 16, 256, 4096)
_THREADS_US, _DASK_US = 20.0, 1000.0  # a part at most
_COLUMNS = 20
_SHARE = 0.8  # of the bandwidth of reading
_THREADS = 2


def loss(w: Any, part: Any) -> Any:
    """Compute minus the logarithm of a logistic likelihood."""
    tg = tapegrad()
    eta = part["x"] @ w
    return tg.sum(tg.logaddexp(0.0, eta) - part["y"] * eta)


def by_hand(w: Array, x: Array, y: Array) -> Answer:
    """Return value and gradient in NumPy."""
    eta = x @ w
    return np.sum(np.logaddexp(0.0, eta) - y * eta), x.T @ (1 / (1 + np.exp(-eta)) - y)


def _drawn(rows: int, columns: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, columns))
    return x, (rng.random(rows) < 0.5).astype(float), np.linspace(-0.5, 0.5, columns)


def _as_given(found: Any) -> Answer:
    value, gradient = found
    return value, gradient


# --- a part by each engine ---------------------------------------------------------------------------------------


def _engines(without: frozenset[str]) -> Iterator[tuple[str, Callable[[ExitStack], Any], float]]:
    """Yield engines, with what makes their executor, and microseconds that a part may take."""
    yield "threads", lambda stack: None, _THREADS_US
    if "dask" in without:
        return
    try:
        distributed = load("distributed")
    except Unavailable:
        return

    def client(stack: ExitStack) -> Any:
        options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
        return stack.enter_context(distributed.Client(**options))

    yield "dask", client, _DASK_US


def _overhead(settings: Settings) -> Outcome:
    """Time value and gradient of parts of two rows: nearly all of it is what a part costs beside its work."""
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    targets, timings = [], []
    for name, executor, limit in _engines(settings.without):
        with ExitStack() as stack:
            client = executor(stack)
            for count in _COUNTS:
                x, y, w = _drawn(2 * count, 3)
                total = tapegrad().optimize.sharded(loss, {"x": x, "y": y}, client, rows=2)
                contender = Contender(f"{name}, {count} parts", partial(total.value_and_grad, w), _as_given)
                (timing,) = race([contender], [by_hand(w, x, y)], settings.budget)
                timings.append(timing)
                targets.append(
                    Target(f"us a part by {name}, of {count}", 1e6 * timing.median / count, limit, "us")
                )
                total.close()
    return Outcome(targets, timings)


# --- out of a file -----------------------------------------------------------------------------------------------


def _sum_of(pool: ThreadPoolExecutor, parts: Sequence[Array]) -> Any:
    return sum(pool.map(np.sum, parts))


def _read(path: Path, block: Array) -> Any:
    """Read a file into one block of memory again and again; return the first number of the last block."""
    with path.open("rb", buffering=0) as file:
        while file.readinto(block):  # type: ignore[arg-type]
            pass
    return block[0]


def _file(settings: Settings) -> Outcome:
    """Time value and gradient of a file that is mapped, beside reading it, and NumPy's sum by as many threads."""
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    x, y, w = _drawn(settings.fewer(2_000_000, 1_000_000), _COLUMNS)
    answer = by_hand(w, x, y)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(_THREADS) as pool:
        path = Path(folder, "x")
        x.tofile(path)
        mapped = np.memmap(path, x.dtype, "r", shape=x.shape)
        halves = mapped[: len(x) // 2], mapped[len(x) // 2 :]
        total = tapegrad().optimize.sharded(loss, {"x": mapped, "y": y}, rows=4096, threads=_THREADS)
        block = np.empty(1 << 17)
        contenders = [
            Contender("value and gradient, two threads", partial(total.value_and_grad, w), _as_given),
            Contender("reading, one thread", partial(_read, path, block), lambda first: (first,)),
            Contender("NumPy's sum, two threads", partial(_sum_of, pool, halves), lambda s: (s,)),
        ]
        last = x.ravel()[x.size // len(block) * len(block)]
        timings = race(contenders, [answer, (last,), (np.sum(x),)], settings.budget)
        total.close()
    ours, reading, summing = (timing.median for timing in timings)
    gigabytes = 1e-9 * (x.nbytes + y.nbytes) / ours
    notes = [
        f"value and gradient take {gigabytes:.1f} GB/s, of a file in the page cache;"
        f" {summing / ours:.2f} of the bandwidth of NumPy's sum"
    ]
    target = Target("of the bandwidth of reading the file", reading / ours, _SHARE, "x", at_least=True)
    return Outcome([target], timings, notes)


# --- a regression beside other packages --------------------------------------------------------------------------


def _by_scikit(x: Array, y: Array, solver: str) -> Array:
    model = load("sklearn.linear_model").LogisticRegression(
        C=np.inf, fit_intercept=False, solver=solver, tol=1e-6
    )
    found: Array = model.fit(x, y).coef_[0]
    return found


def _by_statsmodels(x: Array, y: Array) -> Array:
    found: Array = load("statsmodels.api").Logit(y, x).fit(disp=0).params
    return found


def _regression(settings: Settings) -> Outcome:
    """Time whole fits of a logistic regression."""
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    x, _, w = _drawn(settings.fewer(1_000_000, 100_000), _COLUMNS)
    y = (np.random.default_rng(1).random(len(x)) < 1 / (1 + np.exp(-x @ w))).astype(float)
    tg = tapegrad()
    total = tg.optimize.sharded(loss, {"x": x, "y": y}, rows=4096, threads=_THREADS)
    answer = tg.optimize.minimize(total, np.zeros(_COLUMNS), method="trust-exact", tol=1e-9 * len(x)).x
    slope = by_hand(answer, x, y)[1]
    if np.abs(slope).max() > 1e-6 * len(x):
        raise ArithmeticError(f"the gradient is {np.abs(slope).max()} at the estimate")

    def fit() -> Array:
        found: Array = tg.optimize.minimize(total, np.zeros(_COLUMNS), method="L-BFGS-B", tol=1e-12).x
        return found

    def rounded(found: Any) -> Answer:
        return (np.round(found, 4),)

    contenders = [Contender("sharded, L-BFGS-B", fit, rounded)]
    for package, name, other in (
        ("sklearn.linear_model", "scikit-learn, lbfgs", partial(_by_scikit, x, y, "lbfgs")),
        (
            "sklearn.linear_model",
            "scikit-learn, newton-cholesky",
            partial(_by_scikit, x, y, "newton-cholesky"),
        ),
        ("statsmodels.api", "statsmodels", partial(_by_statsmodels, x, y)),
    ):
        try:
            load(package)
        except Unavailable:
            continue
        if package.partition(".")[0] not in settings.without:
            contenders.append(Contender(name, other, rounded))
    timings = race(contenders, [rounded(answer)] * len(contenders), settings.budget)
    return Outcome([], timings)


SHARDED = (
    Figure("sharded-overhead", "What a part costs: value and gradient of parts of two rows", _overhead),
    Figure(
        "sharded-file", "Value and gradient of a logistic regression out of a file, beside reading it", _file
    ),
    Figure("sharded-regression", "Fits of a logistic regression with 20 coefficients", _regression),
)

"""Functions of SciPy that take arrays of any library, called with Tensors: run as a program, with SCIPY_ARRAY_API=1.

SciPy reads the variable when it is imported, so that the tests start one process for all cases. It prints one JSON
object: for every case the errors of its calls, or an empty list.
"""

import json
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import (
    cluster,
    constants,
    differentiate,
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    spatial,
    special,
    stats,
)
from scipy.optimize import elementwise
from scipy.spatial.transform import RigidTransform, Rotation, Slerp

import tapegrad as tg

X = np.array([3.1, 2.2, 4.7, 3.3, 1.9, 2.7, 4.1, 0.8])
Y = np.array([1.21, 0.73, 2.96, 1.14, 0.37, 1.92, 1.48, 0.95])
LONG, UNIT = np.append(X, Y), X / 6
WEIGHTS = np.array([1.0, 2, 1, 3, 1, 2, 1, 1]) / 12
MATRIX = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
IMAGE = np.sin(np.arange(30.0) ** 1.3).reshape(5, 6)
ANGLES, POSE = np.array([0.1, 0.4, -0.3]), np.array([0.1, 0.4, -0.3, 0.5, -0.2, 0.3])
EDGES = np.sort(X)


def _of(module: Any, *names: str) -> dict[str, Callable[[Any], Any]]:
    short = module.__name__.removeprefix("scipy.")
    return {f"{short}.{name}": getattr(module, name) for name in names}


def _by_both(*names: str) -> dict[str, Callable[[Any], Any]]:
    """Return special functions of two arguments, by each of them, with the other one as a plain array."""
    cases: dict[str, Callable[[Any], Any]] = {}
    for name in names:
        function = getattr(special, name)
        cases[f"special.{name}, first"] = lambda t, function=function: function(t, Y + 1)
        cases[f"special.{name}, second"] = lambda t, function=function: function(Y + 2, t + 1)
    return cases


def _tests(*names: str) -> dict[str, Callable[[Any], Any]]:
    """Return both results of tests of two samples, of which one is plain."""
    cases: dict[str, Callable[[Any], Any]] = {}
    for name in names:
        function = getattr(stats, name)
        cases[f"stats.{name}, statistic"] = lambda t, function=function: function(t, Y).statistic
        cases[f"stats.{name}, pvalue"] = lambda t, function=function: function(t, Y).pvalue
    return cases


# Functions of an array like X. Where a case is no function of its argument alone, the others are plain.
OF_VECTORS: dict[str, Callable[[Any], Any]] = {
    **_of(
        stats,
        *(
            "gmean",
            "hmean",
            "tmean",
            "tvar",
            "tmin",
            "tmax",
            "tstd",
            "tsem",
            "skew",
            "kurtosis",
            "sem",
            "zscore",
        ),
        *("gzscore", "gstd", "iqr", "variation", "kstat", "kstatvar", "entropy", "differential_entropy"),
        *("median_abs_deviation", "circmean", "circvar", "circstd", "lmoment"),
    ),
    "stats.gmean, weights": lambda t: stats.gmean(X, weights=t),
    "stats.pmean": lambda t: stats.pmean(t, 1.7, weights=WEIGHTS),
    "stats.moment": lambda t: stats.moment(t, 3),
    "stats.tmean, limits": lambda t: stats.tmean(t, (1.0, 4.0)),
    "stats.tvar, limits": lambda t: stats.tvar(t, (1.0, 4.0)),
    "stats.zmap": lambda t: stats.zmap(X, t),
    "stats.entropy, two": lambda t: stats.entropy(Y, t),
    "stats.describe": lambda t: stats.describe(t).variance,
    "stats.sigmaclip": lambda t: stats.sigmaclip(t, 1.5, 1.5)[0],
    "stats.trim_mean": lambda t: stats.trim_mean(t, 0.2),
    **_tests(
        *("f_oneway", "alexandergovern", "ttest_ind", "ttest_rel", "bartlett", "levene", "pearsonr"),
        "epps_singleton_2samp",
    ),
    "stats.pearsonr, interval": lambda t: stats.pearsonr(t, Y).confidence_interval().low,
    "stats.ttest_ind, Welch": lambda t: stats.ttest_ind(t, Y[:6], equal_var=False).pvalue,
    "stats.ttest_1samp": lambda t: stats.ttest_1samp(t, 2.5).pvalue,
    "stats.ttest_1samp, interval": lambda t: stats.ttest_1samp(t, 2.5).confidence_interval().low,
    "stats.ttest_ind_from_stats": lambda t: stats.ttest_ind_from_stats(t[0], 1.2, 10, t[1], 1.5, 12).pvalue,
    "stats.chisquare": lambda t: stats.chisquare(t, Y, sum_check=False).pvalue,
    "stats.power_divergence": lambda t: stats.power_divergence(t, t.sum() * WEIGHTS, lambda_=0.7).statistic,
    "stats.boxcox_llf": lambda t: stats.boxcox_llf(0.7, t),
    "stats.yeojohnson_llf": lambda t: stats.yeojohnson_llf(0.7, t),
    "stats.directional_stats": lambda t: stats.directional_stats(t.reshape(4, 2)).mean_direction,
    "stats.quantile": lambda t: stats.quantile(t, np.array([0.2, 0.7])),
    "stats.permutation_test": lambda t: (
        stats.permutation_test((t, Y), _difference, n_resamples=9, rng=1).statistic
    ),
    "stats.bootstrap": lambda t: (
        stats.bootstrap((t,), _square, n_resamples=9, rng=1, method="basic").standard_error
    ),
    # SciPy's functions of elements
    **_of(
        special,
        *(
            "cbrt",
            "cosm1",
            "entr",
            "erf",
            "erfc",
            "erfcx",
            "exp1",
            "exp2",
            "expi",
            "expit",
            "exprel",
            "gamma",
        ),
        *(
            "gammaln",
            "i0",
            "i0e",
            "i1",
            "i1e",
            "j0",
            "j1",
            "k0",
            "k1",
            "log_ndtr",
            "loggamma",
            "ndtr",
            "digamma",
        ),
        *("rgamma", "sinc", "spence", "y0", "y1", "softmax", "log_softmax", "logsumexp"),
    ),
    "special.logsumexp, b": lambda t: special.logsumexp(X, b=t),
    "special.multigammaln": lambda t: special.multigammaln(t, 2),
    "special.polygamma": lambda t: special.polygamma(1, t),
    "special.expn": lambda t: special.expn(2, t),
    "special.zeta": lambda t: special.zeta(Y + 1, t),
    "special.stdtr": lambda t: special.stdtr(Y, t),
    "special.fdtr": lambda t: special.fdtr(X, Y, t),
    "special.hyp1f1": lambda t: special.hyp1f1(t, Y, X),
    **_by_both(
        "gammainc", "gammaincc", "chdtr", "chdtrc", "boxcox", "huber", "pseudo_huber", "kl_div", "rel_entr"
    ),
    **_by_both("xlogy", "xlog1py", "betaln", "binom", "poch"),
    **_of(constants, "lambda2nu", "nu2lambda"),
    "constants.convert_temperature": lambda t: constants.convert_temperature(t, "C", "F"),
    "cluster.vq.whiten": lambda t: cluster.vq.whiten(t.reshape(4, 2)),
    "differentiate.derivative": lambda t: differentiate.derivative(lambda z: z**3, t).df,
    "integrate.trapezoid": lambda t: integrate.trapezoid(t, EDGES),
    "integrate.cumulative_trapezoid": lambda t: integrate.cumulative_trapezoid(t, EDGES, initial=0),
    "integrate.cumulative_simpson": lambda t: integrate.cumulative_simpson(t, x=EDGES),
    "integrate.romb": lambda t: integrate.romb(t[[0, 1, 2, 3, 4]]),
    "integrate.tanhsinh": lambda t: integrate.tanhsinh(lambda z, a: z**2 * a, t * 0, t, args=(Y,)).integral,
    "integrate.nsum": lambda t: integrate.nsum(lambda k, a: 1 / (k + a) ** 4, _one(t), np.inf, args=(t,)).sum,
    "integrate.cubature": lambda t: (
        integrate.cubature(lambda z: z[..., 0] * t[0], t[:1] * 0, t[1:2]).estimate
    ),
    **_of(optimize, "rosen", "rosen_der", "rosen_hess"),
    "optimize.rosen_hess_prod": lambda t: optimize.rosen_hess_prod(t, Y),
    "optimize.elementwise.find_root": lambda t: (
        elementwise.find_root(lambda z, a: z**3 - a, (t * 0, t * 0 + 3), args=(t,)).x
    ),
    **_of(fft, "ifft", "rfft", "fft", "dct", "dst", "idct", "fftshift"),
    "linalg.block_diag": lambda t: linalg.block_diag(t.reshape(4, 2), MATRIX),
    "linalg.fiedler": linalg.fiedler,
    "linalg.orthogonal_procrustes": lambda t: linalg.orthogonal_procrustes(t.reshape(4, 2), Y.reshape(4, 2))[
        0
    ],
    "signal.fftconvolve": lambda t: signal.fftconvolve(t, Y),
    "signal.oaconvolve": lambda t: signal.oaconvolve(t, Y[:3]),
    "signal.hilbert": signal.hilbert,
    "signal.envelope": signal.envelope,
    "signal.resample": lambda t: signal.resample(t, 12),
    "signal.freqz": lambda t: signal.freqz(t, [1.0, -0.4], worN=9)[1],
    "signal.freqz_zpk": lambda t: signal.freqz_zpk(t, np.array([0.4]), 1.0, worN=9)[1],
    "signal.zpk2tf": lambda t: signal.zpk2tf(t, np.array([0.4]), 1.0)[0],
    "signal.bilinear_zpk": lambda t: signal.bilinear_zpk(t, -X, 1.0, 10.0)[0],
    "signal.vectorstrength": lambda t: signal.vectorstrength(t, 2.7)[0],
    "signal.gauss_spline": lambda t: signal.gauss_spline(t, 3),
    "signal.minimum_phase": lambda t: signal.minimum_phase(t[:5] * np.array([0.1, 0.1, 1.0, 0.1, 0.1])),
}
# Functions of other arrays.
OF_OTHERS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    **{
        f"stats.{name}, {part}": (
            lambda t, name=name, part=part: getattr(getattr(stats, name)(t), part),
            LONG,
        )
        for name in ("skewtest", "kurtosistest", "normaltest", "jarque_bera")
        for part in ("statistic", "pvalue")
    },
    "stats.combine_pvalues": (lambda t: stats.combine_pvalues(t, "stouffer", weights=Y).pvalue, WEIGHTS),
    "stats.false_discovery_control": (stats.false_discovery_control, UNIT),
    "stats.quantile, by p": (lambda p: stats.quantile(X, p), np.array([0.23, 0.71])),
    **{name: (case, WEIGHTS) for name, case in _of(special, "ellipk", "erfinv", "logit", "ndtri").items()},
    "special.betainc": (lambda t: special.betainc(Y, X, t), WEIGHTS),
    "special.betaincc": (lambda t: special.betaincc(Y, X, t), WEIGHTS),
    "special.betaincinv": (lambda t: special.betaincinv(Y, X, t), WEIGHTS),
    "special.gammaincinv": (lambda t: special.gammaincinv(Y, t), WEIGHTS),
    "spatial.transform.Rotation": (lambda t: Rotation.from_rotvec(t).apply(MATRIX), ANGLES),
    "spatial.transform.Rotation, angles": (lambda t: Rotation.from_euler("xyz", t).as_rotvec(), ANGLES),
    "spatial.transform.Rotation, matrix": (
        lambda t: Rotation.from_matrix(Rotation.from_rotvec(t).as_matrix()).as_quat(),
        ANGLES,
    ),
    "spatial.transform.Rotation, product": (
        lambda t: (Rotation.from_rotvec(t) ** 0.5 * Rotation.from_rotvec(ANGLES[::-1].copy()).inv()).as_euler(
            "zyx"
        ),
        ANGLES,
    ),
    "spatial.transform.Rotation, vectors": (
        lambda t: Rotation.align_vectors(t, Rotation.from_rotvec(ANGLES).apply(MATRIX))[0].as_rotvec(),
        MATRIX,
    ),
    "spatial.transform.Slerp": (
        lambda t: Slerp(np.array([0.0, 1.0, 2.0]), Rotation.from_rotvec(t))(np.array([0.3, 1.2])).as_rotvec(),
        MATRIX / 5,
    ),
    "spatial.transform.RigidTransform": (
        lambda t: RigidTransform.from_components(t[:3], Rotation.from_rotvec(t[3:])).as_exp_coords(),
        POSE,
    ),
    "spatial.transform.RigidTransform, apply": (
        lambda t: RigidTransform.from_exp_coords(t).apply(MATRIX),
        POSE,
    ),
}
CASES: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    **{name: (case, X) for name, case in OF_VECTORS.items()},
    **OF_OTHERS,
}
# Functions that convert to plain arrays, and what their refusals name.
REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "stats.ks_1samp": (lambda t: stats.ks_1samp(t, special.ndtr), "scipy.stats.ks_1samp"),
    "stats.cramervonmises": (lambda t: stats.cramervonmises(t, special.ndtr), "scipy.stats.cramervonmises"),
    "stats.boxcox_llf, lmb": (lambda t: stats.boxcox_llf(t[0], Y), "float"),
    "cluster.vq.kmeans": (lambda t: cluster.vq.kmeans(t.reshape(4, 2), 2), "scipy.cluster.vq.kmeans"),
    "integrate.trapezoid, x": (lambda t: integrate.trapezoid(Y, t), "write tapegrad.trapezoid(y, x)"),
    "integrate.simpson": (
        lambda t: integrate.simpson(t, x=EDGES),
        "scipy.integrate.simpson(np.eye(len(y)), x)",
    ),
    "integrate.tanhsinh, args": (
        lambda t: integrate.tanhsinh(lambda z, a: z * a, 0.0, 1.0, args=(t,)),
        "limits or brackets of Tensors",
    ),
    "optimize.elementwise.find_root, args": (
        lambda t: elementwise.find_root(lambda z, a: z**3 - a, (0.0, 3.0), args=(t,)),
        "limits or brackets of Tensors",
    ),
    "linalg.expm": (lambda t: linalg.expm(t.reshape(2, 4)[:, :2]), "write tapegrad.linalg.expm"),
    "spatial.transform.Rotation, plain": (
        lambda t: Rotation.from_rotvec(ANGLES).apply(t[:3]),
        "Rotation.from_rotvec(tapegrad.asarray(v))",
    ),
    "spatial.transform.Rotation, davenport": (
        lambda t: Rotation.from_davenport(np.eye(3), "extrinsic", t[:3]),
        "scipy.spatial.transform.Rotation.from_davenport",
    ),
    "spatial.distance.cdist": (
        lambda t: spatial.distance.cdist(t[None], Y[None]),
        "write tapegrad.linalg.cdist",
    ),
    "signal.lfilter": (lambda t: signal.lfilter([0.3], [1.0, -0.4], t), "write tapegrad.signal.lfilter"),
    "signal.filtfilt": (lambda t: signal.filtfilt([0.3], [1.0, -0.4], t), "write tapegrad.signal.filtfilt"),
    "signal.sosfilt": (
        lambda t: signal.sosfilt(np.array([[0.3, 0.2, 0.0, 1.0, -0.4, 0.0]]), t),
        "write tapegrad.signal.sosfilt",
    ),
    "signal.convolve2d": (lambda t: signal.convolve2d(t[None], MATRIX), "write tapegrad.signal.convolve2d"),
    "signal.correlate": (
        lambda t: signal.correlate(t, Y, method="direct"),
        "write tapegrad.signal.correlate",
    ),
    "signal.detrend": (signal.detrend, "scipy.signal.detrend(np.eye(len(data)), axis=0) @ data"),
    "signal.savgol_filter": (lambda t: signal.savgol_filter(t, 5, 2), "scipy.signal.savgol_filter(np.eye"),
    "signal.medfilt": (signal.medfilt, '@tapegrad.custom_op("medfilt"'),
    **{
        f"ndimage.{name}": (
            lambda t, name=name: getattr(ndimage, name)(t.reshape(2, 4)),
            f"write tapegrad.ndimage.{name}",
        )
        for name in ("laplace", "sobel", "prewitt")
    },
    "ndimage.gaussian_filter": (
        lambda t: ndimage.gaussian_filter(t, 1.0),
        "write tapegrad.ndimage.gaussian_filter",
    ),
    "ndimage.zoom": (lambda t: ndimage.zoom(t, 2.0), "scipy.ndimage.zoom"),
    "interpolate.CubicSpline": (
        lambda t: interpolate.CubicSpline(np.arange(8.0), t),
        "write tapegrad.interpolate.CubicSpline",
    ),
}


def _one(t: Any) -> Any:
    return tg.asarray(1.0, constant=True) if isinstance(t, tg.Tensor) else 1.0


def _difference(a: Any, b: Any, axis: int) -> Any:
    return a.mean(axis=axis) - b.mean(axis=axis)


def _square(x: Any, axis: int) -> Any:
    return (x * x).mean(axis=axis)


def _total(case: Callable[[Any], Any], is_complex: bool) -> Callable[[Any], Any]:
    """Make a number of results: of complex ones by their moduli."""

    def total(t: Any) -> Any:
        y = abs(case(t)) if is_complex else case(t)
        return (y * np.cos(np.arange(np.size(y))).reshape(np.shape(y))).sum()

    return total


def _expected(total: Callable[[Any], Any], x: np.ndarray, along: np.ndarray) -> tuple[float, float]:
    """Return SciPy's derivative of plain arrays, and its relative error: a complex step where that is a derivative."""
    coarse, fine = ((total(x + h * along) - total(x - h * along)) / (2 * h) for h in (1e-3, 5e-4))
    difference = (4 * fine - coarse) / 3
    try:
        step = total(x + 1e-30j * along).imag / 1e-30
    except Exception:
        step = np.nan
    return (step, 1e-9) if np.isclose(step, difference, rtol=1e-5, atol=1e-9) else (difference, 1e-5)


def _errors(case: Callable[[Any], Any], x: np.ndarray) -> list[str]:
    """Compare value and gradient, eager and replayed, with those of plain arrays."""
    total, along = (
        _total(case, np.iscomplexobj(case(x))),
        np.random.default_rng(2).uniform(-1.0, 1.0, x.shape),
    )
    value, (slope, error) = total(x), _expected(total, x, along)
    errors = []
    for mode, function in (("eager", total), ("replayed", tg.jit(total))):
        try:
            found, gradient = tg.value_and_grad(function)(x)
            np.testing.assert_allclose(found, value, rtol=1e-10, atol=1e-13, err_msg=mode)
            np.testing.assert_allclose(
                np.sum(gradient * along), slope, rtol=error, atol=1e-2 * error, err_msg=mode
            )
        except Exception as fault:
            errors.append(f"{mode}: {type(fault).__name__}: {fault}")
    return errors


def _unexpected(case: Callable[[Any], Any], words: str) -> list[str]:
    """Return what is wrong with the refusal of a call, in eager code and inside of `jit`."""
    errors = []
    for function in (lambda t: case(tg.tensor(t)), tg.jit(case), tg.grad(lambda t: case(t) and t.sum())):
        with warnings.catch_warnings():
            warnings.simplefilter("error", tg.LostGradientWarning)
            try:
                errors.append(f"returned {function(X)}")
            except (tg.UnsupportedError, tg.TracedValueError, tg.LostGradientWarning) as refusal:
                errors += [str(refusal)] * (words not in str(refusal))
            except Exception as fault:
                errors.append(f"{type(fault).__name__}: {fault}")
    return errors


def main() -> None:
    assert os.environ["SCIPY_ARRAY_API"] == "1"
    warnings.simplefilter("ignore")
    found = {name: _errors(*case) for name, case in CASES.items()}
    found |= {name: _unexpected(*case) for name, case in REFUSED.items()}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()

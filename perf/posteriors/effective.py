"""Effective sample size, and means and standard deviations with their Monte Carlo errors.

Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), "Rank-normalization, folding, and localization"; the sum of
autocorrelations ends by Geyer's initial monotone sequence (1992).
"""

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata


def effective(draws: np.ndarray) -> float:
    """Return the effective size of draws, of shape (chains, draws), for their mean."""
    half = draws.shape[1] // 2
    chains = np.concatenate([draws[:, :half], draws[:, -half:]])
    count, length = chains.shape
    centred = chains - chains.mean(1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centred, 2 * length, axis=1)) ** 2
    covariances = np.fft.irfft(spectrum, axis=1)[:, :length].mean(0) / length
    within = covariances[0] * length / (length - 1)
    total = covariances[0] + chains.mean(1).var(ddof=1)
    if total == 0:
        return float("nan")
    correlations = 1 - (within - covariances * length / (length - 1)) / total
    correlations[0] = 1.0
    pairs = correlations[: length // 2 * 2].reshape(-1, 2).sum(1)
    positive = pairs[: np.argmax(pairs <= 0)] if np.any(pairs <= 0) else pairs
    steps = max(2 * np.minimum.accumulate(positive).sum() - 1, 1 / np.log10(count * length))
    return float(count * length / steps)


def bulk(draws: np.ndarray) -> float:
    """Return the effective size of draws by their ranks."""
    ranks = rankdata(draws).reshape(draws.shape)
    return effective(ndtri((ranks - 0.375) / (draws.size + 0.25)))


def summary(draws: np.ndarray) -> dict[str, float]:
    """Return mean and standard deviation of draws, of shape (chains, draws), their Monte Carlo errors, and `bulk`."""
    mean, sd = draws.mean(), draws.std(ddof=1)
    squares = (draws - mean) ** 2
    return {
        "mean": float(mean), "sd": float(sd), "mean_error": float(sd / np.sqrt(effective(draws))),
        "sd_error": float(squares.std() / (2 * sd * np.sqrt(effective(squares)))), "bulk": bulk(draws),
    }  # fmt: skip


def deviation(own: dict[str, float], other: dict[str, float]) -> float:
    """Return the larger of the differences of two means and two standard deviations, in their Monte Carlo errors."""
    return max(
        float(abs(own[key] - other[key]) / np.hypot(own[f"{key}_error"], other[f"{key}_error"]))
        for key in ("mean", "sd")
    )

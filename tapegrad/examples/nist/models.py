"""The models, one short function each: ``model(b, x)`` for parameters `b` and predictors `x`.

They are written in NumPy's names, so `b` may be an array or a Tensor. Powers of `x` do not depend on the parameters:
they are computed while the tape is recorded, and cost nothing when it is replayed.
"""

from collections.abc import Callable
from typing import Any

import numpy as np


def saturation(b: Any, x: Any) -> Any:
    """Exponential approach to a limit (Misra1a, BoxBOD)."""
    return b[0] * (1 - np.exp(-b[1] * x))


def misra1b(b: Any, x: Any) -> Any:
    return b[0] * (1 - (1 + b[1] * x / 2) ** -2)


def misra1c(b: Any, x: Any) -> Any:
    return b[0] * (1 - (1 + 2 * b[1] * x) ** -0.5)


def misra1d(b: Any, x: Any) -> Any:
    return b[0] * b[1] * x * (1 + b[1] * x) ** -1


def chwirut(b: Any, x: Any) -> Any:
    return np.exp(-b[0] * x) / (b[1] + b[2] * x)


def power_law(b: Any, x: Any) -> Any:
    """DanWood."""
    return b[0] * x ** b[1]


def exponentials(b: Any, x: Any) -> Any:
    """Three decaying exponentials (Lanczos1 to Lanczos3)."""
    return b[0] * np.exp(-b[1] * x) + b[2] * np.exp(-b[3] * x) + b[4] * np.exp(-b[5] * x)


def peaks(b: Any, x: Any) -> Any:
    """Two Gaussian peaks on a decaying baseline (Gauss1 to Gauss3)."""
    first = b[2] * np.exp(-((x - b[3]) ** 2) / b[4] ** 2)
    second = b[5] * np.exp(-((x - b[6]) ** 2) / b[7] ** 2)
    return b[0] * np.exp(-b[1] * x) + first + second


def quadratics(b: Any, x: Any) -> Any:
    """Ratio of two quadratics (Kirby2)."""
    return (b[0] + b[1] * x + b[2] * x**2) / (1 + b[3] * x + b[4] * x**2)


def cubics(b: Any, x: Any) -> Any:
    """Ratio of two cubics (Hahn1, Thurber)."""
    above = b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3
    return above / (1 + b[4] * x + b[5] * x**2 + b[6] * x**3)


def nelson(b: Any, x: Any) -> Any:
    """Return the logarithm of the response, with predictors ``x[0]`` and ``x[1]``."""
    return b[0] - b[1] * x[0] * np.exp(-b[2] * x[1])


def mgh17(b: Any, x: Any) -> Any:
    return b[0] + b[1] * np.exp(-x * b[3]) + b[2] * np.exp(-x * b[4])


def roszman1(b: Any, x: Any) -> Any:
    return b[0] - b[1] * x - np.arctan(b[2] / (x - b[3])) / np.pi


def enso(b: Any, x: Any) -> Any:
    """Three cycles: one of twelve months, and two of unknown length ``b[3]`` and ``b[6]``."""
    year, first, second = 2 * np.pi * x / 12, 2 * np.pi * x / b[3], 2 * np.pi * x / b[6]
    cycles = b[1] * np.cos(year) + b[2] * np.sin(year) + b[4] * np.cos(first) + b[5] * np.sin(first)
    return b[0] + cycles + b[7] * np.cos(second) + b[8] * np.sin(second)


def mgh09(b: Any, x: Any) -> Any:
    return b[0] * (x**2 + x * b[1]) / (x**2 + x * b[2] + b[3])


def mgh10(b: Any, x: Any) -> Any:
    return b[0] * np.exp(b[1] / (x + b[2]))


def eckerle4(b: Any, x: Any) -> Any:
    return b[0] / b[1] * np.exp(-0.5 * ((x - b[2]) / b[1]) ** 2)


def rat42(b: Any, x: Any) -> Any:
    return b[0] / (1 + np.exp(b[1] - b[2] * x))


def rat43(b: Any, x: Any) -> Any:
    return b[0] / (1 + np.exp(b[1] - b[2] * x)) ** (1 / b[3])


def bennett5(b: Any, x: Any) -> Any:
    return b[0] * (b[1] + x) ** (-1 / b[2])


MODELS: dict[str, Callable[[Any, Any], Any]] = {
    "Bennett5": bennett5,
    "BoxBOD": saturation,
    "Chwirut1": chwirut,
    "Chwirut2": chwirut,
    "DanWood": power_law,
    "Eckerle4": eckerle4,
    "ENSO": enso,
    "Gauss1": peaks,
    "Gauss2": peaks,
    "Gauss3": peaks,
    "Hahn1": cubics,
    "Kirby2": quadratics,
    "Lanczos1": exponentials,
    "Lanczos2": exponentials,
    "Lanczos3": exponentials,
    "MGH09": mgh09,
    "MGH10": mgh10,
    "MGH17": mgh17,
    "Misra1a": saturation,
    "Misra1b": misra1b,
    "Misra1c": misra1c,
    "Misra1d": misra1d,
    "Nelson": nelson,
    "Rat42": rat42,
    "Rat43": rat43,
    "Roszman1": roszman1,
    "Thurber": cubics,
}

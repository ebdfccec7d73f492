"""Textbook models, written as a scientist writes them for NumPy, and data for each.

Nothing here knows of Tensors: it is code for arrays of floats. Where NumPy gives Tensors no way in, for it makes an
array of a list of them or fills one of its own, the namespace is an argument: NumPy, or another under its name.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


def _normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


class Model(NamedTuple):
    """A loss, and parameters at which it is differentiated."""

    loss: Callable[..., Any]
    parameters: np.ndarray


# --- time series -------------------------------------------------------------------------------------------------

returns = 0.01 * _normal(0, 12)


def garch(p):
    """Negative log-likelihood of a GARCH(1,1) process (Bollerslev 1986), in unconstrained parameters."""
    mu, log_omega, a, b = p
    omega, alpha, beta = np.exp(log_omega), 1 / (1 + np.exp(-a)), 1 / (1 + np.exp(-b))
    residuals = returns - mu
    variance = np.var(returns)
    total = 0.0
    for r in residuals:
        total += 0.5 * (np.log(2 * np.pi) + np.log(variance) + r**2 / variance)
        variance = omega + alpha * r**2 + beta * variance
    return total


def garch_in_arrays(p):
    """The same, with the variances in an array that is filled in place."""
    omega, alpha, beta = np.exp(p[1]), 1 / (1 + np.exp(-p[2])), 1 / (1 + np.exp(-p[3]))
    residuals = returns - p[0]
    variances = np.zeros_like(residuals)
    variances[0] = np.var(returns)
    for t in range(1, len(residuals)):
        variances[t] = omega + alpha * residuals[t - 1] ** 2 + beta * variances[t - 1]
    return 0.5 * np.sum(np.log(2 * np.pi * variances) + residuals**2 / variances)


positions = np.cumsum(_normal(1, 8)) + 0.3 * _normal(2, 8)


def kalman(p):
    """Negative log-likelihood of a local linear trend, by the Kalman filter."""
    q, r = np.exp(p[:2]), np.exp(p[2])
    transition = np.array([[1.0, 1.0], [0.0, 1.0]])
    observe = np.array([[1.0, 0.0]])
    mean, covariance = np.zeros(2), 10.0 * np.eye(2)
    total = 0.0
    for y in positions:
        mean = transition @ mean
        covariance = transition @ covariance @ transition.T + np.diag(q)
        innovation = y - observe @ mean
        s = observe @ covariance @ observe.T + r
        gain = covariance @ observe.T / s
        mean = mean + gain @ innovation
        covariance = covariance - gain @ observe @ covariance
        total += 0.5 * np.sum(np.log(2 * np.pi * s) + innovation**2 / s)
    return total


emitted = np.array([0, 2, 1, 1, 0, 2, 2])


def hidden_markov(p):
    """Negative log-likelihood of a hidden Markov model, by the forward algorithm in logarithms."""
    transitions = p[:4].reshape(2, 2)
    emissions = p[4:10].reshape(2, 3)
    log_t = transitions - np.log(np.sum(np.exp(transitions), axis=1, keepdims=True))
    log_e = emissions - np.log(np.sum(np.exp(emissions), axis=1, keepdims=True))
    alpha = np.log(0.5) + log_e[:, emitted[0]]
    for symbol in emitted[1:]:
        joint = alpha[:, np.newaxis] + log_t
        top = np.max(joint, axis=0)
        alpha = top + np.log(np.sum(np.exp(joint - top), axis=0)) + log_e[:, symbol]
    return -np.logaddexp(alpha[0], alpha[1])


# --- survival ----------------------------------------------------------------------------------------------------

times = np.array([1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 4.0, 5.0])
died = np.array([1, 1, 0, 1, 1, 1, 1, 0])
covariates = _normal(3, 8, 2)


def cox_breslow(beta):
    """Negative partial log-likelihood of Cox's model, ties as Breslow (1974) has them."""
    risk = np.exp(covariates @ beta)
    at_risk = times[np.newaxis, :] >= times[:, np.newaxis]
    return -np.sum(died * (covariates @ beta - np.log(np.sum(np.where(at_risk, risk, 0.0), axis=1))))


def cox_efron(beta):
    """The same, ties as Efron (1977) has them."""
    eta = np.dot(covariates, beta)
    risk = np.exp(eta)
    total = 0.0
    for t in np.unique(times[died == 1]):
        tied = (times == t) & (died == 1)
        count = tied.sum()
        at_risk, of_tied = risk[times >= t].sum(), risk[tied].sum()
        total += eta[tied].sum()
        for k in range(count):
            total -= np.log(at_risk - k / count * of_tied)
    return -total


# --- differential equations ----------------------------------------------------------------------------------------

infected = np.array([0.01, 0.03, 0.07, 0.14, 0.2, 0.21])


def sir(p, np=np):
    """Squared misfit of an SIR epidemic, integrated by the classical Runge-Kutta method."""
    beta, gamma = np.exp(p[0]), np.exp(p[1])

    def rates(u):
        s, i, _ = u
        return np.array([-beta * s * i, beta * s * i - gamma * i, gamma * i])

    u, h = np.array([0.99, 0.01, 0.0]), 1.0
    found = []
    for _ in infected:
        found.append(u[1])
        k1 = rates(u)
        k2 = rates(u + h / 2 * k1)
        k3 = rates(u + h / 2 * k2)
        k4 = rates(u + h * k3)
        u = u + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return np.sum((np.array(found) - infected) ** 2)


population = np.array([0.11, 0.2, 0.36, 0.55, 0.74, 0.85])


def logistic_growth(p):
    """Mean squared misfit of logistic growth by Heun's method, the states stacked."""
    rate, capacity, start = p
    states = [start]
    for _ in range(len(population) - 1):
        n = states[-1]
        slope = rate * n * (1 - n / capacity)
        ahead = n + slope
        states.append(n + 0.5 * (slope + rate * ahead * (1 - ahead / capacity)))
    return np.mean((np.stack(states) - population) ** 2)


def neural_ode(p, np=np):
    """Squared misfit of a small neural differential equation by Euler's method."""
    w1, b1, w2 = p[:8].reshape(4, 2), p[8:12], p[12:20].reshape(2, 4)
    u = np.array([1.0, 0.0])
    path = np.zeros((6, 2))
    for k in range(6):
        u = u + 0.1 * (w2 @ np.tanh(w1 @ u + b1))
        path[k] = u
    angles = np.linspace(0.1, 0.6, 6)
    return np.sum(np.square(path - np.column_stack([np.cos(angles), np.sin(angles)])))


# --- curves --------------------------------------------------------------------------------------------------------

maturities = np.array([0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0])
yields = np.array([0.7, 0.8, 1.1, 1.5, 2.2, 2.8, 3.1])


def nelson_siegel(p):
    """Squared misfit of a yield curve (Nelson and Siegel 1987)."""
    b0, b1, b2, tau = p
    x = maturities / tau
    slope = (1 - np.exp(-x)) / x
    return np.sum((b0 + b1 * slope + b2 * (slope - np.exp(-x)) - yields) ** 2)


hours = np.array([0.5, 1.0, 2.0, 4.0, 8.0, 12.0])
concentrations = np.array([1.9, 2.7, 2.9, 2.2, 1.1, 0.5])


def pharmacokinetics(p):
    """Log-normal misfit of a dose taken by mouth, with absorption and elimination of first order."""
    ka, ke, volume = np.exp(p[:3])
    predicted = 100.0 * ka / (volume * (ka - ke)) * (np.exp(-ke * hours) - np.exp(-ka * hours))
    sigma = np.exp(p[3])
    return np.sum(0.5 * ((np.log(concentrations) - np.log(predicted)) / sigma) ** 2 + np.log(sigma))


grid = np.linspace(-3.0, 3.0, 31)
spectrum = 1.0 / (1 + (grid - 0.2) ** 2) + 0.05 * _normal(4, 31)


def line_shapes(p):
    """Mean squared misfit of a Lorentz and a Gauss line and of their mixture (a pseudo-Voigt profile), on a slope."""
    height, centre, width, share = p[:4]
    z = (grid - centre) / width
    lorentz = 1 / (1 + z**2)
    gauss = np.exp(-np.log(2) * z**2)
    profile = height * (share * lorentz + (1 - share) * gauss) + (p[4] * grid + p[5])
    return np.mean((profile - spectrum) ** 2) + 1e-3 * np.linalg.norm(p)


# --- clusters, classes, cameras --------------------------------------------------------------------------------------

points = np.concatenate([0.5 * _normal(5, 6, 2) - 1.0, 0.8 * _normal(6, 6, 2) + 1.0])


def mixture(p):
    """Negative log-likelihood of two Gaussians with diagonal covariances."""
    logits, means, log_sigmas = p[:2], p[2:6].reshape(2, 2), p[6:10].reshape(2, 2)
    z = (points[:, None, :] - means[None, :, :]) / np.exp(log_sigmas)
    log_densities = -0.5 * np.sum(z**2, axis=-1) - np.sum(log_sigmas, axis=-1) - np.log(2 * np.pi)
    log_weights = logits - np.log(np.sum(np.exp(logits)))
    return -np.sum(np.logaddexp.reduce(log_densities + log_weights, axis=1))


labels = (points[:, 0] > 0.1).astype(float)


def logistic_regression(p):
    """Cross entropy with a penalty, and a column of ones for the intercept."""
    design = np.hstack([np.ones((len(points), 1)), points])
    z = design @ p
    return np.mean(np.log1p(np.exp(-np.abs(z))) + np.maximum(z, 0) - labels * z) + 0.01 * np.dot(p[1:], p[1:])


def softmax_regression(p):
    """Cross entropy of three classes, by labels."""
    weights = p.reshape(2, 3)
    classes = np.arange(len(points)) % 3
    scores = points @ weights
    scores = scores - scores.max(axis=1, keepdims=True)
    log_probabilities = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return -log_probabilities[np.arange(len(points)), classes].mean()


corners = np.random.default_rng(7).uniform(-1.0, 1.0, (5, 3))
observed = np.random.default_rng(8).uniform(-0.3, 0.3, (5, 2))


def bundle_adjustment(p):
    """Squared reprojection errors of one camera: Rodrigues' rotation, translation, focal length, radial distortion."""
    rotation, translation, focal, k1, k2 = p[:3], p[3:6], p[6], p[7], p[8]
    theta = np.sqrt(np.sum(rotation**2))
    axis = rotation / theta
    turned = (
        corners * np.cos(theta)
        + np.cross(axis, corners) * np.sin(theta)
        + np.outer(corners @ axis, axis) * (1 - np.cos(theta))
    )
    x, y, z = (turned + translation).T
    u = np.stack([x / z, y / z], axis=1)
    r2 = np.sum(u**2, axis=1, keepdims=True)
    return np.sum((focal * (1 + k1 * r2 + k2 * r2**2) * u - observed) ** 2)


def rotation(p, np=np):
    """A rotation and a scaling of points to others, the matrix written as nested lists."""
    c, s = np.cos(p[0]), np.sin(p[0])
    moved = points @ np.array([[c, -s], [s, c]]).T * p[1] + p[2:4]
    return np.sum(np.linalg.norm(moved - points[::-1], axis=1))


def _at(loss: Callable[..., Any], *values: float) -> Model:
    return Model(loss, np.array(values))


MODELS: dict[str, Model] = {
    "GARCH(1,1)": _at(garch, 0.001, -10.0, -2.0, 1.5),
    "GARCH(1,1), in place": _at(garch_in_arrays, 0.001, -10.0, -2.0, 1.5),
    "Kalman filter": _at(kalman, -1.0, -2.0, -1.5),
    "hidden Markov model": Model(hidden_markov, _normal(9, 10)),
    "Cox, Breslow's ties": _at(cox_breslow, 0.3, -0.5),
    "Cox, Efron's ties": _at(cox_efron, 0.3, -0.5),
    "SIR by Runge-Kutta": _at(sir, 0.3, -1.0),
    "logistic growth": _at(logistic_growth, 0.8, 1.1, 0.1),
    "neural ODE": Model(neural_ode, 0.5 * _normal(10, 20)),
    "Nelson-Siegel": _at(nelson_siegel, 3.0, -2.0, 0.5, 2.0),
    "pharmacokinetics": _at(pharmacokinetics, 0.3, -1.5, 3.2, -1.0),
    "line shapes": _at(line_shapes, 1.0, 0.1, 1.2, 0.6, 0.02, 0.01),
    "Gaussian mixture": Model(mixture, 0.5 * _normal(11, 10)),
    "logistic regression": _at(logistic_regression, 0.1, 0.5, -0.3),
    "softmax regression": Model(softmax_regression, _normal(12, 6)),
    "bundle adjustment": _at(bundle_adjustment, 0.1, -0.2, 0.3, 0.1, 0.2, 5.0, 1.1, 0.01, -0.02),
    "rotation": _at(rotation, 0.4, 1.2, 0.1, -0.2),
}

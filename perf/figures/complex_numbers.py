"""Complex numbers and Fourier transforms: functions, a fused chain, transforms, a deconvolution, a circuit, a loop.

What others compute is NumPy's value, or a gradient written by hand.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numba
import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target, times_faster
from perf.peers import Unavailable, tapegrad
from perf.small.case import by_hand
from perf.workloads import Answer
from tapegrad.testing.timer import Contender, race

FUNCTIONS = ("exp", "sin", "log", "sqrt")
ELEMENTS, CHAIN = 4096, 100_000
QUBITS, LAYERS = 10, 4
PULSE, DETUNING = 10_000, 0.5  # steps of unit time, and half the distance of two levels


def _library(settings: Settings) -> Any:
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    return tapegrad()


def _complex(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, 2)).view(complex)[:, 0]


def _parts(z: Any) -> Answer:
    """Return a complex array as an answer: its parts side by side."""
    return (np.ascontiguousarray(z).view(float),)


def _functions(settings: Settings) -> Outcome:
    tg, z = _library(settings), _complex(ELEMENTS)
    t, targets, timings = tg.tensor(z, constant=True), [], []
    for name in FUNCTIONS:
        theirs = getattr(np, name)
        contenders = [
            Contender(f"tapegrad {name}", partial(getattr(tg, name), t), lambda found: _parts(found.data)),
            Contender(f"NumPy {name}", partial(theirs, z), _parts),
        ]
        found = race(contenders, _parts(theirs(z)), settings.budget, 1e-13)
        targets += times_faster(f"tapegrad {name}", [(f"NumPy {name}", 2.5)], found)
        timings += found
    return Outcome(targets, timings)


# --- a fused chain ---------------------------------------------------------------------------------------------


def _chain(settings: Settings) -> Outcome:
    """Measure ``sum((abs2(a * exp(1.7j * x) + 1) - d)**2)``, by real x and complex a."""
    tg, rng = _library(settings), np.random.default_rng(0)
    x, d, a = rng.standard_normal(CHAIN), rng.random(CHAIN), _complex(CHAIN)
    a_parts = np.stack([a.real, a.imag])

    def by_numbers(x: Any, a: Any) -> Any:
        z = a * np.exp(1.7j * x) + 1
        return np.sum((z.real**2 + z.imag**2 - d) ** 2)

    def by_parts(x: Any, re: Any, im: Any) -> Any:
        c, s = np.cos(1.7 * x), np.sin(1.7 * x)
        return np.sum(((re * c - im * s + 1) ** 2 + (re * s + im * c) ** 2 - d) ** 2)

    ours = tg.value_and_grad(tg.jit(by_numbers, fuse=True), argnums=(0, 1))
    parts = tg.value_and_grad(tg.jit(by_parts, fuse=True), argnums=(0, 1, 2))

    def answer_of_parts(found: Any) -> Answer:
        value, (x_bar, re, im) = found
        return float(value), np.concatenate([x_bar, re, im])

    def answer(found: Any) -> Answer:
        value, (x_bar, a_bar) = found
        return float(value), np.concatenate([x_bar, a_bar.real, a_bar.imag])

    contenders = [
        Contender("tapegrad", partial(ours, x, a), answer),
        Contender("tapegrad, real parts by hand", partial(parts, x, *a_parts), answer_of_parts),
    ]
    z = a * np.exp(1.7j * x) + 1
    bar = 4 * (np.abs(z) ** 2 - d) * z
    turned = np.conj(a * 1.7j * np.exp(1.7j * x)) * bar
    a_bar = np.exp(-1.7j * x) * bar
    gradient = np.concatenate([turned.real, a_bar.real, a_bar.imag])
    right: Answer = (float(((np.abs(z) ** 2 - d) ** 2).sum()), gradient)
    timings = race(contenders, right, settings.budget, 1e-7)
    return Outcome(times_faster("tapegrad", [("tapegrad, real", 0.8)], timings), timings)


# --- transforms ------------------------------------------------------------------------------------------------


def _transforms(settings: Settings) -> Outcome:
    tg, targets, timings = _library(settings), list[Target](), []
    ours = tg.jit(tg.fft.fft)
    for n, faster in ((64, 1 / 0.45), (1024, 1 / 0.9), (65536, 1 / 1.15)):
        z = _complex(n)
        contenders = [
            Contender(f"tapegrad {n}", partial(ours, z), _parts),
            Contender(f"NumPy {n}", partial(np.fft.fft, z), _parts),
        ]
        found = race(contenders, _parts(np.fft.fft(z)), settings.budget, 1e-9)
        targets += times_faster(f"tapegrad {n}", [(f"NumPy {n}", faster)], found)
        timings += found
    return Outcome(targets, timings)


def _deconvolution(n: int, faster: float, settings: Settings) -> Outcome:
    """Measure the misfit of a convolution by transforms, by the signal and the kernel."""
    tg, rng = _library(settings), np.random.default_rng(0)
    x, k, d = rng.standard_normal(n), np.exp(-np.arange(n) / 5.0), rng.standard_normal(n)

    def misfit(x: Any, k: Any) -> Any:
        return np.sum((np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(k), n) - d) ** 2)

    def by_hand(x: np.ndarray, k: np.ndarray) -> Answer:
        spectrum, response = np.fft.rfft(x), np.fft.rfft(k)
        rest = np.fft.irfft(spectrum * response, n) - d
        bar = np.fft.rfft(2 * rest)
        bars = [np.fft.irfft(np.conj(other) * bar, n) for other in (response, spectrum)]
        return float(rest @ rest), np.concatenate(bars)

    ours = tg.value_and_grad(tg.jit(misfit), argnums=(0, 1))
    contenders = [
        Contender("tapegrad", partial(ours, x, k), lambda found: (float(found[0]), np.concatenate(found[1]))),
        Contender("NumPy, by hand", partial(by_hand, x, k), lambda found: found),
    ]
    timings = race(contenders, by_hand(x, k), settings.budget, 1e-7)
    return Outcome(times_faster("tapegrad", [("NumPy, by hand", faster)], timings), timings)


# --- a circuit -------------------------------------------------------------------------------------------------

_BITS = np.arange(2**QUBITS)[:, None] >> np.arange(QUBITS)[::-1] & 1
_SPINS = 1.0 - 2.0 * _BITS
_ENERGY = (_SPINS * np.roll(_SPINS, 1, axis=1)).sum(axis=1) + _SPINS[:, 0]
_ENTANGLED = 1.0 - 2.0 * ((_BITS * np.roll(_BITS, 1, axis=1)).sum(axis=1) % 2)


def expected_energy(angles: Any) -> Any:
    """Return the energy of a state after layers of turns about two axes and controlled signs on a ring."""
    state = np.zeros(2**QUBITS, complex)
    state[0] = 1.0
    halves = angles * 0.5
    cosines, sines, phases = np.cos(halves[0]), np.sin(halves[0]), np.exp(1j * halves[1])
    for layer in range(LAYERS):
        for qubit in range(QUBITS):
            pairs = state.reshape(2**qubit, 2, -1)
            c, s, phase = cosines[layer, qubit], sines[layer, qubit], phases[layer, qubit]
            up = (c * pairs[:, 0] - s * pairs[:, 1]) * phase.conj()
            state = np.stack([up, (s * pairs[:, 0] + c * pairs[:, 1]) * phase], 1).reshape(-1)
        state = state * _ENTANGLED
    return np.sum((state.real**2 + state.imag**2) * _ENERGY)


@numba.njit  # type: ignore[untyped-decorator]
def _turn(state: Any, step: int, c: float, s: float, phase: complex) -> None:  # pragma: no cover
    for first in range(0, len(state), 2 * step):
        for k in range(first, first + step):
            a, b = state[k], state[k + step]
            state[k], state[k + step] = (c * a - s * b) * phase.conjugate(), (s * a + c * b) * phase


@numba.njit  # type: ignore[untyped-decorator]
def _slope_of_phase(cotangent: Any, state: Any, step: int) -> float:  # pragma: no cover
    slope = 0.0
    for first in range(0, len(state), 2 * step):
        for k in range(first, first + step):
            up, down = cotangent[k].conjugate() * state[k], cotangent[k + step].conjugate() * state[k + step]
            slope += 0.5 * (up.imag - down.imag)
    return slope


@numba.njit  # type: ignore[untyped-decorator]
def _slope_of_turn(cotangent: Any, state: Any, step: int) -> float:  # pragma: no cover
    slope = 0.0
    for first in range(0, len(state), 2 * step):
        for k in range(first, first + step):
            down = (cotangent[k + step].conjugate() * state[k]).real
            slope += 0.5 * (down - (cotangent[k].conjugate() * state[k + step]).real)
    return slope


@numba.njit  # type: ignore[untyped-decorator]
def _by_adjoint(angles: Any, signs: Any, energy: Any) -> tuple[float, Any]:  # pragma: no cover
    """Compute value and gradient with two states: gates are undone one by one (Jones and Gacon 2020)."""
    qubits, layers = angles.shape[2], angles.shape[1]
    state, gradient = np.zeros(len(signs), np.complex128), np.zeros_like(angles)
    state[0] = 1.0
    for layer in range(layers):
        for qubit in range(qubits):
            y, z = 0.5 * angles[0, layer, qubit], 0.5 * angles[1, layer, qubit]
            _turn(state, 1 << (qubits - 1 - qubit), np.cos(y), np.sin(y), complex(np.cos(z), np.sin(z)))
        for k in range(len(state)):
            state[k] *= signs[k]
    value, cotangent = 0.0, np.empty_like(state)
    for k in range(len(state)):
        value += (state[k].real ** 2 + state[k].imag ** 2) * energy[k]
        cotangent[k] = 2 * energy[k] * state[k]
    for layer in range(layers - 1, -1, -1):
        for k in range(len(state)):
            state[k] *= signs[k]
            cotangent[k] *= signs[k]
        for qubit in range(qubits - 1, -1, -1):
            y, z = 0.5 * angles[0, layer, qubit], 0.5 * angles[1, layer, qubit]
            step = 1 << (qubits - 1 - qubit)
            gradient[1, layer, qubit] = _slope_of_phase(cotangent, state, step)
            phase = complex(np.cos(z), np.sin(z))
            for both in (state, cotangent):
                _turn(both, step, 1.0, 0.0, phase.conjugate())
            gradient[0, layer, qubit] = _slope_of_turn(cotangent, state, step)
            for both in (state, cotangent):
                _turn(both, step, np.cos(y), -np.sin(y), complex(1.0, 0.0))
    return value, gradient


def _circuit(settings: Settings) -> Outcome:
    tg, angles = _library(settings), np.random.default_rng(0).uniform(-3, 3, (2, LAYERS, QUBITS))
    ours: Callable[..., Any] = tg.value_and_grad(tg.jit(expected_energy))
    value, gradient = _by_adjoint(angles, _ENTANGLED, _ENERGY)
    contenders = [
        Contender("tapegrad", partial(ours, angles), lambda found: (float(found[0]), found[1])),
        Contender(
            "Numba, adjoint by hand", partial(_by_adjoint, angles, _ENTANGLED, _ENERGY), lambda found: found
        ),
    ]
    timings = race(contenders, (value, gradient), settings.budget, 1e-9)
    return Outcome(times_faster("tapegrad", [("Numba, adjoint", 0.5)], timings), timings)


# --- a loop ----------------------------------------------------------------------------------------------------


def _rotation(x: Any) -> tuple[Any, Any]:
    """Return cosine and sine of Cayley's form of a step, the sine by the strength of the field."""
    w = 1 + (0.25 / PULSE) ** 2 * (DETUNING**2 + x * x)
    return 2 / w - 1, 0.5 / PULSE / w


def excitation(tg: Any, pulse: Any) -> Any:
    """Return the population of the upper level of a qubit after a pulse."""

    def step(psi: Any, x: Any) -> tuple[Any, None]:
        c, s = _rotation(x)
        s = 1j * s
        lower, upper = (c - s * DETUNING) * psi[0], (c + s * DETUNING) * psi[1]
        return np.stack([lower - s * x * psi[1], upper - s * x * psi[0]]), None

    psi, _ = tg.scan(step, np.array([1.0 + 0j, 0.0]), pulse)
    return psi[1].real ** 2 + psi[1].imag ** 2


def excitation_by_parts(tg: Any, pulse: Any) -> Any:
    """Return the same, with a carry of four real numbers."""

    def step(parts: Any, x: Any) -> tuple[Any, None]:
        c, s = _rotation(x)
        a, b, p, q = parts
        lower = c * a + s * (DETUNING * b + x * q), c * b - s * (DETUNING * a + x * p)
        return (*lower, c * p + s * (x * b - DETUNING * q), c * q - s * (x * a - DETUNING * p)), None

    (_, _, p, q), _ = tg.scan(step, (1.0, 0.0, 0.0, 0.0), pulse)
    return p**2 + q**2


_compiled_rotation = by_hand(_rotation)


@by_hand  # type: ignore[untyped-decorator]
def _step(c: float, s: float, x: float, a: complex, b: complex) -> Any:  # pragma: no cover
    return c * a - 1j * s * (DETUNING * a + x * b), c * b - 1j * s * (x * a - DETUNING * b)


@by_hand  # type: ignore[untyped-decorator]
def _excitation_by_hand(pulse: Any) -> tuple[float, Any]:  # pragma: no cover
    """Compute value and gradient: steps are rotations, which the reverse sweep undoes."""
    a, b, gradient = 1 + 0j, 0j, np.empty_like(pulse)
    for x in pulse:
        c, s = _compiled_rotation(x)
        a, b = _step(c, s, x, a, b)
    value, a_bar, b_bar = b.real**2 + b.imag**2, 0j, 2 * b
    for k in range(len(pulse) - 1, -1, -1):
        x = pulse[k]
        c, s = _compiled_rotation(x)
        a, b = _step(c, -s, x, a, b)
        # c and s have the slopes -s * s * x times 1 and 0.25 / PULSE
        by_a, by_b = _step(1.0, 0.25 / PULSE, x, a, b)
        by_a, by_b = -s * s * x * by_a - 1j * s * b, -s * s * x * by_b - 1j * s * a
        gradient[k] = (a_bar.conjugate() * by_a + b_bar.conjugate() * by_b).real
        a_bar, b_bar = _step(c, -s, x, a_bar, b_bar)
    return value, gradient


def _loop(settings: Settings) -> Outcome:
    tg, pulse = _library(settings), np.pi + np.random.default_rng(0).standard_normal(PULSE)
    functions = {"tapegrad": excitation, "tapegrad, real parts by hand": excitation_by_parts}
    contenders = [
        Contender(name, partial(tg.value_and_grad(tg.jit(partial(each, tg))), pulse))
        for name, each in functions.items()
    ]
    contenders.append(Contender("Numba, adjoint by hand", partial(_excitation_by_hand, pulse)))
    timings = race(contenders, _excitation_by_hand(pulse), settings.budget)
    return Outcome(times_faster("tapegrad", [("tapegrad, real", 0.8)], timings), timings)


COMPLEX_NUMBERS = (
    Figure("complex-functions", f"exp, sin, log and sqrt of {ELEMENTS:,} complex numbers, eager", _functions),
    Figure("complex-chain", f"A fused chain of {CHAIN:,} complex numbers: value and gradient", _chain),
    Figure("fft", "Fourier transforms of 64, 1,024 and 65,536 complex numbers", _transforms),
    *(
        Figure(
            f"deconvolution-{n}",
            f"Misfit of a convolution by transforms, n = {n:,}: value and gradient",
            partial(_deconvolution, n, faster),
        )
        for n, faster in ((1024, 1 / 0.65), (65536, 1 / 1.05))
    ),
    Figure(
        "circuit",
        f"Circuit of {QUBITS} qubits, {2 * LAYERS * QUBITS} parameters: value and gradient",
        _circuit,
    ),
    Figure("complex-loop", f"A qubit in a pulse, scan of {PULSE:,} steps: value and gradient", _loop),
)

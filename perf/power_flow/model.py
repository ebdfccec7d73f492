"""AC optimal power flow in polar coordinates, of one vector of variables, for NumPy, tapegrad, CasADi and CVXPY alike.

Variables are angles and magnitudes of voltages, active and reactive power of generators, and both kinds of power that
enter branches: at the first ends of all of them, then at their second ends. It is the problem of rosetta-opf,
PowerModels' standard one.

Reference: C. Coffrin et al., "PowerModels.jl: An open-source framework for exploring power flow formulations",
PSCC 2018.
"""

from typing import Any

import numpy as np

from perf.power_flow.matpower import Network


class PowerFlow:
    """Optimal power flow of a network: objective, constraints and their limits.

    Parameters
    ----------
    network
        The network. Functions take the namespace of their variables: NumPy, or one with its ``sin``, ``cos``, ``sum``,
        ``concatenate`` and ``bincount``.

    Attributes
    ----------
    bounds, constraint_bounds
        Limits of variables and of constraints, arrays with a row below and a row above.
    start
        Where all solvers begin, as JuMP does: zeros within the limits, and magnitudes of one.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        buses, generators, branches = map(len, (network.load, network.generator_bus, network.rate))
        ends = np.cumsum([buses, buses, generators, generators, 2 * branches, 2 * branches])
        self._parts = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]
        rates = np.outer([-1.0, 1.0], np.tile(network.rate, 2))
        free = np.full((2, buses), [[-np.inf], [np.inf]])
        self.bounds = np.hstack([free, network.voltage, network.active, network.reactive, rates, rates])
        self.start = np.clip(np.zeros(ends[-1]), *self.bounds)
        self.start[self._parts[1]] = 1.0
        nothing, load, squares = np.zeros(4 * branches), network.load, np.tile(network.rate, 2) ** 2
        equations = np.concatenate([nothing[: len(network.reference)], -load.real, -load.imag, nothing])
        power = np.stack([np.full(2 * branches, -np.inf), squares])
        self.constraint_bounds = np.hstack([np.tile(equations, (2, 1)), network.angle, power])
        series, tap = network.admittance, network.tap / np.abs(network.tap) ** 2
        own = series + 1j * network.charging
        self._own, self._mutual = (own * np.abs(tap) ** 2, own), (series * tap, series * tap.conj())

    def objective(self, x: Any, names: Any = np) -> Any:
        """Return the cost in dollars an hour."""
        power, (square, slope, constant) = x[self._parts[2]], self.network.cost
        return names.sum(square * power**2 + slope * power) + np.sum(constant)

    def constraints(self, x: Any, names: Any = np) -> Any:
        """Return reference angles, sums of power at buses, power that enters branches, angles, and squared power.

        Sums of power are taken by `numpy.bincount`, whose derivatives are known to be constant: its numbers are those
        of elements, while the entries of a sparse matrix might change between two evaluations.
        """
        network = self.network
        angles, magnitudes, active, reactive, p, q = (x[part] for part in self._parts)
        difference = angles[network.ends[0]] - angles[network.ends[1]]
        flows = self._flows(difference, magnitudes, names)

        def left(entering: Any, generated: Any, shunt: np.ndarray) -> Any:
            entered = names.bincount(network.ends.ravel(), entering, len(shunt))
            return (
                entered - names.bincount(network.generator_bus, generated, len(shunt)) + shunt * magnitudes**2
            )

        return names.concatenate([
            angles[network.reference],
            left(p, active, network.shunt.real),
            left(q, reactive, -network.shunt.imag),
            flows - x[self._parts[4].start :],
            difference,
            p**2 + q**2,
        ])  # fmt: skip

    def _flows(self, difference: Any, magnitudes: Any, names: Any) -> Any:
        """Return active power that enters branches at both ends, then reactive power."""
        one, other = (magnitudes[ends] for ends in self.network.ends)
        even, odd = one * other * names.cos(difference), one * other * names.sin(difference)
        (own, own2), (mutual, mutual2) = self._own, self._mutual
        return names.concatenate([
            own.real * one**2 - mutual.real * even - mutual.imag * odd,
            own2.real * other**2 - mutual2.real * even + mutual2.imag * odd,
            mutual.imag * even - mutual.real * odd - own.imag * one**2,
            mutual2.imag * even + mutual2.real * odd - own2.imag * other**2,
        ])  # fmt: skip

"""MATPOWER's case files (version 2) as networks in per unit: elements in service alone, buses numbered from zero.

Limits and costs are those that PowerModels makes of a file, which the published objectives belong to.

References: R. D. Zimmerman, C. E. Murillo-Sánchez, MATPOWER User's Manual, appendix B; C. Coffrin et al.,
"PowerModels.jl: An open-source framework for exploring power flow formulations", PSCC 2018.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_MATRIX = re.compile(r"mpc\.(\w+)\s*=\s*\[(.*?)\]", re.DOTALL)
_SCALAR = re.compile(r"mpc\.baseMVA\s*=\s*([^;\s]+)")
_COMMENT = re.compile(r"%.*")
_REFERENCE, _ISOLATED = 3, 4  # kinds of buses
_POLYNOMIAL = 2  # kind of costs
_WIDEST_ANGLE = 1.0472  # radians, in the place of no limit, of pi / 2 and more, and of zero on both sides


@dataclass(frozen=True)
class Network:
    """Network of buses, generators and branches, in per unit and radians.

    Attributes
    ----------
    reference
        Buses whose voltage has the angle zero.
    voltage, active, reactive
        Limits, below and above, of magnitudes at buses, and of the generators' power.
    load, shunt
        Complex power and admittance at each bus.
    generator_bus, cost
        Of each generator: its bus, and coefficients by falling powers, shape (3, generators), in dollars an hour.
    ends
        Buses at the ends of each branch, shape (2, branches).
    admittance, charging, tap
        Of each branch: complex series admittance, susceptance to earth at each end, and complex ratio.
    angle, rate
        Of each branch: limits of the difference of angles, and of the magnitude of power at each end.
    """

    reference: np.ndarray
    voltage: np.ndarray
    load: np.ndarray
    shunt: np.ndarray
    generator_bus: np.ndarray
    active: np.ndarray
    reactive: np.ndarray
    cost: np.ndarray
    ends: np.ndarray
    admittance: np.ndarray
    charging: np.ndarray
    tap: np.ndarray
    angle: np.ndarray
    rate: np.ndarray


def read(path: Path) -> Network:
    """Return the network of a case file.

    Raises
    ------
    ValueError
        For a file without one of the matrices, and for costs that are not polynomials of degree 2 or less.
    """
    text = _COMMENT.sub("", path.read_text())
    matrices = {name: _rows(body) for name, body in _MATRIX.findall(text)}
    base = _SCALAR.search(text)
    if base is None or not {"bus", "gen", "gencost", "branch"} <= matrices.keys():
        raise ValueError(f"{path.name}: no case of MATPOWER's version 2")
    bus = matrices["bus"][matrices["bus"][:, 1] != _ISOLATED]
    return _network(float(base[1]), bus, *(matrices[name] for name in ("gen", "gencost", "branch")))


def _rows(body: str) -> np.ndarray:
    """Return a matrix; rows that are shorter than others end in zeros."""
    rows = [row for line in re.split(r"[;\n]", body) if (row := line.replace(",", " ").split())]
    width = max(map(len, rows), default=0)
    return np.array([row + ["0"] * (width - len(row)) for row in rows], np.float64).reshape(-1, width)


def _network(
    base: float, bus: np.ndarray, gen: np.ndarray, gencost: np.ndarray, branch: np.ndarray
) -> Network:
    """Return the network of a file's matrices, of which `bus` has no isolated ones."""
    if len(gencost) != len(gen):
        raise ValueError(f"{len(gencost)} rows of costs for {len(gen)} generators")
    is_on = (gen[:, 7] != 0) & np.isin(gen[:, 0], bus[:, 0])
    gen, gencost = gen[is_on], gencost[is_on]
    branch = branch[(branch[:, 10] != 0) & np.isin(branch[:, :2], bus[:, 0]).all(axis=1)]
    order = np.argsort(bus[:, 0])
    generator_bus, ends = (
        order[np.searchsorted(bus[:, 0], each, sorter=order)] for each in (gen[:, 0], branch[:, :2].T)
    )
    impedance = branch[:, 2] + 1j * branch[:, 3]
    admittance = np.divide(1, impedance, out=np.zeros_like(impedance), where=impedance != 0)
    angle = _angles(np.radians(branch[:, 11:13].T))
    reference = np.flatnonzero(bus[:, 1] == _REFERENCE)
    return Network(
        reference=reference if len(reference) else generator_bus[[np.argmax(gen[:, 8])]],
        voltage=bus[:, [12, 11]].T,
        load=(bus[:, 2] + 1j * bus[:, 3]) / base,
        shunt=(bus[:, 4] + 1j * bus[:, 5]) / base,
        generator_bus=generator_bus,
        active=gen[:, [9, 8]].T / base,
        reactive=gen[:, [4, 3]].T / base,
        cost=_costs(gencost) * [[base**2], [base], [1.0]],
        ends=ends,
        admittance=admittance,
        charging=0.5 * branch[:, 4],
        tap=np.where(branch[:, 8] == 0, 1.0, branch[:, 8]) * np.exp(1j * np.radians(branch[:, 9])),
        angle=angle,
        rate=_rates(branch[:, 5] / base, np.abs(admittance), bus[ends, 11], angle),
    )


def _angles(given: np.ndarray) -> np.ndarray:
    """Return limits of differences of angles, which are all less than pi / 2."""
    least, most = np.where(np.all(given == 0, axis=0), [[-np.inf], [np.inf]], given)
    is_wide = [least <= -np.pi / 2, most >= np.pi / 2]
    return np.where(is_wide, [[-_WIDEST_ANGLE], [_WIDEST_ANGLE]], [least, most])


def _rates(given: np.ndarray, admittance: np.ndarray, highest: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Return limits of power; where there is none, what voltages and angles within their limits allow."""
    widest = np.cos(np.max(np.abs(angle), axis=0))
    drop = np.sqrt(np.sum(highest**2, axis=0) - 2 * np.prod(highest, axis=0) * widest)
    return np.where(given > 0, given, admittance * np.max(highest, axis=0) * drop)


def _costs(gencost: np.ndarray) -> np.ndarray:
    """Return three coefficients of each generator, by falling powers of its power in MW."""
    found = np.zeros((3, len(gencost)))
    for generator, (kind, _, _, count, *coefficients) in enumerate(gencost):
        given = np.trim_zeros(coefficients[: int(count)], "f")
        if kind != _POLYNOMIAL or len(given) > len(found):
            raise ValueError("costs are polynomials of degree 2 or less here")
        found[len(found) - len(given) :, generator] = given
    return found

r"""
Ground state of a ring of spins on a quantum computer
=====================================================

A variational quantum circuit prepares a state with few parameters, and its energy is minimised by gradient: here ten
qubits simulated in plain NumPy, whose derivatives go through the 1,024 complex amplitudes of each gate. The ring of
spins in a transverse field, at its critical point, has the energy

.. math:: E = -\sum_j Z_j Z_{j+1} - \sum_j X_j

A circuit that evolves by the two terms in turn reaches the ground state of N spins with N/2 layers (Ho and Hsieh,
*SciPost Physics* 6, 2019), and the energy is known: -2 / sin(pi / 2N).
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

QUBITS, LAYERS = 10, 5

# %%
# Bits of the basis states give the first term, which is diagonal: a layer multiplies by phases. The second term turns
# each qubit, two amplitudes at a time.

bits = np.arange(2**QUBITS)[:, None] >> np.arange(QUBITS) & 1
spins = 1.0 - 2.0 * bits
coupling = (spins * np.roll(spins, 1, axis=1)).sum(axis=1)


def turned(state, angle):
    """Apply exp(i angle X) to each qubit."""
    for qubit in range(QUBITS):
        pairs = state.reshape(2**qubit, 2, -1)
        state = np.cos(angle) * pairs + 1j * np.sin(angle) * pairs[:, ::-1]
    return state.reshape(-1)


def circuit(angles):
    """Return the amplitudes, from a product of spins along the field."""
    state = np.full(2**QUBITS, 2 ** (-QUBITS / 2), dtype=complex)
    for gamma, beta in angles.reshape(-1, 2):
        state = turned(state * np.exp(1j * gamma * coupling), beta)
    return state


def energy(angles):
    state = circuit(angles)
    flips = sum((state.conj() * state[np.arange(2**QUBITS) ^ (1 << j)]).real.sum() for j in range(QUBITS))
    return -(np.abs(state) ** 2 * coupling).sum() - flips


# %%
# Minimise from small angles that grow and shrink as in an adiabatic sweep.

ramp = (np.arange(LAYERS) + 0.5) / LAYERS
start = 0.5 * np.stack([ramp, 1 - ramp], axis=1).ravel()
energies = []
result = tg.optimize.minimize(energy, start, method="BFGS", callback=lambda x: energies.append(energy(x)))

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
exact = -2 / np.sin(np.pi / 20)
left.semilogy(np.array(energies) - exact)
left.set(xlabel="step of BFGS", ylabel="energy above the ground state")
state = circuit(result.x)
chance = np.abs(state) ** 2
distances = np.arange(QUBITS + 1)
order = [chance @ (spins[:, 0] * spins[:, d % QUBITS]) for d in distances]
right.plot(distances, order, "o-")
right.set(xlabel="distance of two spins", ylabel="correlation", ylim=(0, 1.05))
plt.show()

# %%
# The energy, and the magnetisation along the field, which is half of it by symmetry of both terms at the critical
# point.

magnetisation = sum((state.conj() * state[np.arange(2**QUBITS) ^ (1 << j)]).real.sum() for j in range(QUBITS))
known = {"energy": -12.784906442999324, "magnetisation": 6.392453221499662}
found = {"energy": result.fun, "magnetisation": magnetisation}
rtol = 1e-6

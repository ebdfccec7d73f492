"""Kinematic chain: how far the end of an arm of seven joints is from a target."""

from typing import Any

import numpy as np

from perf.peers import load
from perf.small.case import Case, Data, by_hand
from perf.workloads import Answer, Array

_OFFSET = np.array([0.3, 0.1, 0.2])  # from a joint to the next one
_TARGET = np.array([0.4, -0.5, 0.8])


def kinematics(xp: Any, x: Any) -> Any:
    """Compute the squared distance; joints turn around the third axis and the second one in turns."""
    frame, end = np.eye(3), np.zeros(3)
    for k in range(x.shape[0]):
        c, s = xp.cos(x[k]), xp.sin(x[k])
        if k % 2:
            turn = xp.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
        else:
            turn = xp.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        frame = frame @ turn
        end = end + frame @ _OFFSET
    return xp.sum((end - _TARGET) ** 2)


def _symbolic(xp: Any, x: Any) -> Any:
    casadi = load("casadi")

    def array(rows: Any) -> Any:
        return casadi.vertcat(*(casadi.horzcat(*row) for row in rows))

    frame, end = casadi.SX.eye(3), casadi.SX.zeros(3)
    for k in range(x.shape[0]):
        c, s = casadi.cos(x[k]), casadi.sin(x[k])
        if k % 2:
            frame = frame @ array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
        else:
            frame = frame @ array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        end = end + frame @ casadi.DM(_OFFSET)
    return casadi.sumsqr(end - casadi.DM(_TARGET))


@by_hand
def _loop(x: Array) -> Answer:
    """Go along the chain with one row of the frame at a time, and back: a joint turns two of its three numbers."""
    n, value, g, turns = x.size, 0.0, np.zeros(x.size), np.empty((x.size, 2))
    h0, h1, h2 = _OFFSET[0], _OFFSET[1], _OFFSET[2]
    for k in range(n):
        turns[k, 0], turns[k, 1] = np.cos(x[k]), np.sin(x[k])
    for row in range(3):
        a0, a1, a2 = 1.0 if row == 0 else 0.0, 1.0 if row == 1 else 0.0, 1.0 if row == 2 else 0.0
        end = -_TARGET[row]
        for k in range(n):
            c, s = turns[k, 0], turns[k, 1]
            if k % 2:
                a0, a2 = c * a0 - s * a2, s * a0 + c * a2
            else:
                a0, a1 = c * a0 + s * a1, c * a1 - s * a0
            end += a0 * h0 + a1 * h1 + a2 * h2
        value += end * end
        b0, b1, b2 = 0.0, 0.0, 0.0  # cotangents
        for k in range(n - 1, -1, -1):
            c, s = turns[k, 0], turns[k, 1]
            b0, b1, b2 = b0 + 2 * end * h0, b1 + 2 * end * h1, b2 + 2 * end * h2
            if k % 2:
                g[k] += b2 * a0 - b0 * a2
                a0, a2 = c * a0 + s * a2, c * a2 - s * a0
                b0, b2 = c * b0 + s * b2, c * b2 - s * b0
            else:
                g[k] += b0 * a1 - b1 * a0
                a0, a1 = c * a0 - s * a1, s * a0 + c * a1
                b0, b1 = c * b0 - s * b1, s * b0 + c * b1
    return value, g


def _inputs(joints: int) -> tuple[Array, Data]:
    return np.random.default_rng(0).uniform(-1, 1, joints), ()


KINEMATICS = Case(
    "kinematics",
    "Kinematic chain, 7 rotations 3 x 3",
    kinematics,
    _inputs,
    _loop,
    size=7,
    small_size=4,
    limit=1.4,
    below=("CasADi",),
    symbolic=_symbolic,
)

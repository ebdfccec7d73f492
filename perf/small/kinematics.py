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
    """Go along the chain once: a joint moves the end along the product of its axis and the way to the end."""
    n, path, g = x.size, np.empty((x.size, 6)), np.empty(x.size)
    h0, h1, h2 = _OFFSET[0], _OFFSET[1], _OFFSET[2]
    a0, a1, a2, b0, b1, b2, d0, d1, d2 = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0  # columns of the frame
    e0, e1, e2 = 0.0, 0.0, 0.0
    for k in range(n):
        row, c, s = path[k], np.cos(x[k]), np.sin(x[k])
        if k % 2:
            row[0], row[1], row[2] = b0, b1, b2
            a0, d0, a1, d1 = c * a0 - s * d0, s * a0 + c * d0, c * a1 - s * d1, s * a1 + c * d1
            a2, d2 = c * a2 - s * d2, s * a2 + c * d2
        else:
            row[0], row[1], row[2] = d0, d1, d2
            a0, b0, a1, b1 = c * a0 + s * b0, c * b0 - s * a0, c * a1 + s * b1, c * b1 - s * a1
            a2, b2 = c * a2 + s * b2, c * b2 - s * a2
        row[3], row[4], row[5] = e0, e1, e2
        e0 += a0 * h0 + b0 * h1 + d0 * h2
        e1 += a1 * h0 + b1 * h1 + d1 * h2
        e2 += a2 * h0 + b2 * h1 + d2 * h2
    r0, r1, r2 = e0 - _TARGET[0], e1 - _TARGET[1], e2 - _TARGET[2]
    for k in range(n):
        u0, u1, u2, p0, p1, p2 = path[k]
        p0, p1, p2 = e0 - p0, e1 - p1, e2 - p2
        g[k] = 2 * (r0 * (u1 * p2 - u2 * p1) + r1 * (u2 * p0 - u0 * p2) + r2 * (u0 * p1 - u1 * p0))
    return r0 * r0 + r1 * r1 + r2 * r2, g


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
    below=("CasADi, new arrays",),
    symbolic=_symbolic,
)

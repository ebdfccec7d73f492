"""Hand tracking (`ht`): differences between measured points and those of a skinned model, and their Jacobian.

The Jacobian has a column for each pose parameter; where points lie inside of triangles, the two coordinates of each are
parameters as well, and two more columns, in front, have the derivatives of each point by its own.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

import tapegrad as tg
from perf.gradbench.served import Served, array
from perf.workloads import Array

FINGERS = 5


def _bends(bones: int) -> Array:
    """Lay the angles of the fingers into those of the bones: two of the first joint, one of the next two each."""
    table, finger = np.zeros((3 * bones, 4 * FINGERS)), 3 * (2 + 4 * np.arange(FINGERS))
    table[np.add.outer(finger, [0, 1, 3, 6]).ravel(), np.arange(4 * FINGERS)] = 1.0
    return table


def _bone_turns(angles: Any) -> Any:
    """Rotations by angles about x, z and y, of shape (bones, 3, 3): first about x, then y, then z."""
    (cx, cz, cy), (sx, sz, sy) = np.cos(angles.T), np.sin(angles.T)
    rows = [
        [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
        [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
        [-sy, cy * sx, cy * cx],
    ]
    return np.moveaxis(np.stack([np.stack(row) for row in rows]), -1, 0)


def _hand_turn(turn: Any) -> Any:
    """Rotation about an axis, times its angle; none if the angle is tiny."""
    angle = np.sqrt(np.sum(turn**2))
    if angle < 1e-4:
        return np.eye(3)
    x, y, z = turn / angle
    zero = 0.0 * x
    cross = np.stack([np.stack([zero, -z, y]), np.stack([z, zero, -x]), np.stack([-y, x, zero])])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)


def positions(theta: Any, model: Mapping[str, Any], parents: tuple[int, ...], mirrored: bool) -> Any:
    """Positions of the vertices, of shape (3, vertices): a mean over bones that each move them, with weights."""
    angles = (_bends(len(parents)) @ theta[6:]).reshape(-1, 3)
    local = model["relatives"][:, :, :3] @ _bone_turns(angles)
    local = np.concatenate([local, model["relatives"][:, :, 3:]], axis=2)
    placed: list[Any] = []
    for bone, parent in enumerate(parents):
        placed.append(local[bone] if parent < 0 else placed[parent] @ local[bone])
    moves = (np.stack(placed) @ model["inverses"])[:, :3]
    turn = _hand_turn(theta[:3])
    if mirrored:
        turn = turn * np.array([-1.0, 1.0, 1.0])
    moves = np.moveaxis(turn @ moves, 0, 1).reshape(3, -1)
    weighted = model["weights"][:, None] * model["base_positions"]
    return moves @ weighted.reshape(moves.shape[1], -1) + theta[3:6, None]


def differences(
    theta: Any, shift: Any, us: Any, model: Mapping[str, Any], parents: tuple[int, ...], mirrored: bool
) -> Any:
    """Points less those of the model, of shape (3, points); `shift` is added to all coordinates in triangles."""
    vertices = positions(theta, model, parents, mirrored)
    first, *others = (vertices[:, corner] for corner in model["corners"])
    if others:
        u, v = us + shift[:, None]
        first = u * first + v * others[0] + (1 - u - v) * others[1]
    return model["points"] - first


def _prepare(given: Mapping[str, Any]) -> tuple[Any, ...]:
    """Keep the vertices that a point needs."""
    hand, measured = given["data"]["model"], given["data"]
    chosen, us = np.array(measured["correspondences"]), array(given["us"]).T
    corners = np.array(hand["triangles"])[chosen].T if us.size else chosen[None]
    needed, places = np.unique(corners, return_inverse=True)
    names = {"relatives": "base_relatives", "inverses": "inverse_base_absolutes"}
    model = {name: array(hand[key]) for name, key in names.items()}
    model |= {name: array(hand[name])[needed].T.copy() for name in ("weights", "base_positions")}
    model |= {"corners": places.reshape(corners.shape), "points": array(measured["points"]).T.copy()}
    parameters = array(given["theta"]), np.zeros(2), us.copy()
    return *parameters, model, tuple(hand["parents"]), hand["is_mirrored"]


def _rows(jacobian: Any) -> Any:
    """Return a row for each coordinate of each point; derivatives by coordinates in triangles come first."""
    parts = [np.moveaxis(each, 0, 1).reshape(-1, each.shape[-1]) for each in jacobian]
    return np.hstack(parts[::-1]).tolist()


_replayed = tg.jit(differences, static_argnums=(4, 5))
_by_pose, _by_all = (tg.jacfwd(_replayed, argnums=argnums) for argnums in ((0,), (0, 1)))
HT = {
    "objective": Served(_replayed, _prepare, lambda found: found.T.ravel().tolist()),
    "jacobian": Served(lambda *p: (_by_all if p[2].size else _by_pose)(*p), _prepare, _rows),
}

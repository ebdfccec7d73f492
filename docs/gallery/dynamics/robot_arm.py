r"""
Inverse kinematics of a robot arm
=================================

The Puma 560 has six rotating joints. Denavit and Hartenberg's four parameters describe a joint, and the pose of the
hand is a product of six matrices. Which angles :math:`q` take the hand to a given pose? Minimisation of the distance
between both poses, from many starts, finds all answers: arm left or right, elbow up or down, and wrist flipped or not
make eight. Link lengths and the pose ``qn`` are Peter Corke's (*Robotics, Vision and Control*, 2011, section 7.2): the
hand is at (0.5963, -0.1501, -0.0144) m, the manipulability is 0.0786, and the angles (2.6486, -3.9270, 0.0940, 2.5326,
0.9743, 0.3734) give the same pose.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

# length a and offset d of each link in metres, and its twist
links = [(0, 0, 90), (0.4318, 0, 0), (0.0203, 0.15005, -90), (0, 0.4318, 90), (0, 0, -90), (0, 0, 0)]
qn = np.array([0, np.pi / 4, np.pi, 0, np.pi / 4, 0])


def frames(q):  # poses of the base, the joints and the hand, as matrices of rotation and translation
    poses = [np.eye(4)]
    for k, (a, d, twist) in enumerate(links):
        c, s, ct, st = np.cos(q[k]), np.sin(q[k]), np.cos(np.radians(twist)), np.sin(np.radians(twist))
        rows = [[c, -s * ct, s * st, a * c], [s, c * ct, -c * st, a * s], [0, st, ct, d], [0, 0, 0, 1]]
        poses.append(poses[-1] @ tg.array(rows))
    return poses


# %%
# A native minimiser works on all starts in compiled code.

target = frames(qn)[-1].data


def distance(q):
    return tg.sum((frames(q)[-1] - target) ** 2)


starts = np.random.default_rng(1).uniform(-np.pi, np.pi, (300, 6))
tight = {"ftol": 1e-16, "gtol": 1e-9}
many = tg.optimize.minimize(distance, None, method="native", starts=starts, options=tight)
solved = many.all_x[many.all_fun < 1e-12]
keys = np.round(np.concatenate([np.cos(solved), np.sin(solved)], axis=1), 3) + 0.0
solutions = solved[np.unique(keys, axis=0, return_index=True)[1]]
print(f"{len(solved)} of {len(starts)} starts reach the pose, in {len(solutions)} ways")

# %%
# Velocities of the joints become velocities of the hand by the Jacobian, and turns by that of the rotation matrix,
# of which three elements suffice. Yoshikawa's manipulability is the volume that they span: it is zero at a singularity.


def manipulability(q):
    pose, slope = frames(q)[-1].data, tg.jacobian(lambda q: frames(q)[-1])(q)
    spin = np.einsum("ijk,jl->ilk", slope[:3, :3], pose[:3, :3].T)
    velocities = np.concatenate([slope[:3, 3], [spin[2, 1], spin[0, 2], spin[1, 0]]])
    return np.sqrt(np.linalg.det(velocities @ velocities.T))


figure = plt.figure(figsize=(10, 3.4), layout="constrained")
for k, q in enumerate(
    q for q in solutions if np.sin(q[4]) > 0
):  # the others are the same, with flipped wrists
    axes = figure.add_subplot(1, 4, k + 1, projection="3d", box_aspect=(1, 1, 1.2))
    places = np.array([[0, 0, -0.6], *(np.array(pose.data)[:3, 3] for pose in frames(q)[1:])])
    axes.plot(*places.T, "o-", lw=4, ms=5, color=f"C{k}")
    axes.quiver(*target[:3, 3], *0.25 * target[:3, 2], color="k")
    axes.set(xlim=(-0.3, 0.7), ylim=(-0.5, 0.5), zlim=(-0.6, 0.6), yticks=[0])

angles = np.array([2.6486, -3.9270, 0.0940, 2.5326, 0.9743, 0.3734])
nearest = min(solutions, key=lambda q: np.sum(np.abs(np.exp(1j * q) - np.exp(1j * angles))))
known = {"solutions": 8, "hand": [0.5963, -0.1501, -0.0144], "manipulability": 0.0786, "cosines": 1.0}
found = {"solutions": len(solutions), "hand": target[:3, 3], "manipulability": manipulability(qn)}
found["cosines"] = np.cos(nearest - angles)
rtol = 5e-3

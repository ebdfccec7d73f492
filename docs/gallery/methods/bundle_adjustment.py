"""
Bundle adjustment
=================

Where were the cameras, and where are the points that they have seen? Each observation depends on nine parameters of a
camera and three of a point, so the Jacobian is sparse: its pattern is found in the recording. Points meet in cameras
alone; they are eliminated, and what is left are equations of the cameras (Triggs and others, *Bundle adjustment: a
modern synthesis*, 2000). The model is that of *Bundle Adjustment in the Large* (Agarwal and others, 2010), whose files
``tapegrad.examples.bundle_adjustment.read`` reads; the scene is drawn, with noise of half a pixel.
"""

import inspect

import numpy as np
from matplotlib import pyplot as plt

from tapegrad.examples import bundle_adjustment as model

truth, scene = model.draw_scene(cameras=8, points=400, observations=2000)
print(inspect.getsource(model.project))
print(inspect.getsource(model.Scene.residuals))

# %%
# Parameters are a structure of arrays, and so is the result.

fit = scene.adjust()
print(fit.message, f"{fit.nfev} evaluations")
print(f"Jacobian: {fit.jac.shape[0]:,} x {fit.jac.shape[1]:,}, {fit.jac.nnz:,} entries")

# %%
# Some observations are wrong: points that were taken for others. A robust loss leaves them out.

draws = np.random.default_rng(1)
wrong = draws.choice(len(scene.seen), 60, replace=False)
seen = scene.seen.copy()
seen[wrong] += draws.normal(0, 50, (60, 2))
robust = scene._replace(seen=seen).adjust(loss="cauchy", f_scale=1.0)


def shape(points):
    """Distances between points by their mean: they stay when the scene is moved, turned or scaled."""
    distances = np.linalg.norm(points - np.roll(points, 1, axis=0), axis=1)
    return distances / distances.mean()


def error(points):
    return np.sqrt(np.mean((shape(points) - shape(truth.points)) ** 2))


plain = scene._replace(seen=seen).adjust()
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.spy(fit.jac[:: len(scene.seen) // 100], markersize=1.5, aspect="auto", color="C0")
left.set(xlabel="parameter: cameras, then points", ylabel="residual, every twentieth", title="Jacobian")
names = ("start", "adjusted", "wrong matches", "robust loss")
found_points = (scene.points, fit.x["points"], plain.x["points"], robust.x["points"])
right.barh(names, [100 * error(points) for points in found_points], color=["gray", "C0", "C3", "C2"])
right.set(xlabel="error of distances between points, % of their mean", title="The scene's shape")
right.invert_yaxis()

# %%
# The noise and the focal lengths that the scene was drawn with. Seven parameters are free: the scene may be moved,
# turned and scaled.

freedom = fit.jac.shape[0] - fit.jac.shape[1] + 7
known = {"noise": 0.5, "focal length": 500.0, "focal length, robust": 500.0}
found = {
    "noise": np.sqrt(2 * fit.cost / freedom),
    "focal length": fit.x["cameras"][:, 6].mean(),
    "focal length, robust": robust.x["cameras"][:, 6].mean(),
}
rtol = 0.05

"""
The NIST regressions, to eleven digits
======================================

The Statistical Reference Datasets of NIST are 27 nonlinear regressions, measured or generated, with parameters that are
certified to eleven digits (https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml; data of the US government, in the
public domain). ``tapegrad fit`` fits all of them from both starting points that NIST gives. This page fits the ones of
the highest level of difficulty, from the start that is farther away.
"""

import inspect

from matplotlib import pyplot as plt

from tapegrad.examples import nist
from tapegrad.examples.nist import models

# %%
# A model is a function of its parameters. SciPy's ``least_squares`` takes the residuals with an exact Jacobian.

print(inspect.getsource(models.peaks))
print(inspect.getsource(nist.Problem.residuals))

# %%
# Evaluations, and digits that agree with the certified parameters: by SciPy, and by the optimiser in compiled code.

hard = [problem for name in nist.names() if (problem := nist.load(name)).level == "higher"]
fits = {problem.name: nist.fit(problem, 1) for problem in hard}
print(f"{'problem':10} {'residuals':>10} {'Jacobians':>10} {'digits':>7} {'digits, native':>15}")
for name, each in fits.items():
    print(f"{name:10} {each.nfev:10} {each.njev:10} {each.digits:7.1f} {each.native_digits:15.1f}")

# %%
# The data with the fitted curves.

figure, grid = plt.subplots(2, -(-len(hard) // 2), figsize=(10.0, 4.6), layout="constrained")
for axes, problem in zip(grid.flat, hard, strict=False):
    axes.plot(problem.x, problem.response, ".", ms=4, color="gray")
    order = problem.x.argsort()
    axes.plot(problem.x[order], problem.model(fits[problem.name].parameters, problem.x[order]))
    axes.set_title(problem.name, fontsize="medium")
for axes in grid.flat[len(hard) :]:
    axes.axis("off")

# %%
# Certified values of two of the problems, as NIST publishes them.

known = {
    "Eckerle4": [1.5543827178, 4.0888321754, 451.54121844],
    "Thurber": [
        1288.1396800,
        1491.0792535,
        583.23836877,
        75.416644291,
        0.96629502864,
        0.39797285797,
        0.049727297349,
    ],
}
found = {name: fits[name].parameters for name in known}
rtol = 1e-6

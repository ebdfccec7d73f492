r"""
Remission of leukaemia
======================

Weeks of remission of 42 children, half of them treated with 6-mercaptopurine, half with a placebo; a ``+`` marks
children who were still in remission when they were last seen. Cox's model leaves the risk :math:`h_0(t)` of a relapse
at time :math:`t` open and says that treatment multiplies it by :math:`e^{-\beta}`. Only the order of the relapses
enters its partial likelihood: at each of them, how probable was it that this child, of all still at risk, relapsed?

.. math:: L(\beta) = \prod_i \frac{e^{\beta x_i}}{\sum_{j: t_j \ge t_i} e^{\beta x_j}}

Data: Freireich and others, *Blood* 21, 1963. Method and answer: Cox, *JRSS B* 34, 1972; ties by Breslow's and by
Efron's rule as in Therneau and Grambsch, *Modeling Survival Data*, 2000, section 3.3, and in R's ``coxph``.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

records = """1 1 2 2 3 4 4 5 5 8 8 8 8 11 11 12 12 15 17 22 23
6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+"""  # on placebo; treated
times = np.array([float(t.rstrip("+")) for t in records.split()])
relapsed = np.array([not t.endswith("+") for t in records.split()])
on_placebo = np.repeat([1.0, 0.0], 21)

# %%
# At each of ``d`` simultaneous relapses Breslow's rule divides by the risk of all children ``d`` times; Efron's lets
# those who relapse leave one after the other, each time by their mean.

moments = np.unique(times[relapsed])
at_risk = (times >= moments[:, np.newaxis]).astype(float)
relapses = ((times == moments[:, np.newaxis]) & relapsed).astype(float)


def negative_log_likelihood(beta, efron):
    risk = np.exp(beta * on_placebo)
    of_all, of_relapsing = at_risk @ risk, relapses @ risk
    total = beta * (relapses @ on_placebo).sum()
    for k, d in enumerate(relapses.sum(axis=1).astype(int)):
        total -= sum(np.log(of_all[k] - efron * j / d * of_relapsing[k]) for j in range(d))
    return -total


estimates, errors, curves = {}, {}, {}
grid = np.linspace(0, 3, 151)
for rule, efron in {"Breslow": 0.0, "Efron": 1.0}.items():
    f = tg.jit(negative_log_likelihood)
    fit = tg.optimize.minimize(f, np.array(0.0), args=(efron,), method="trust-exact")
    estimates[rule] = float(fit.x)
    errors[rule] = float(tg.hessian(f)(fit.x, efron)) ** -0.5
    curves[rule] = tg.vmap(f, in_axes=(0, None))(grid, efron) - fit.fun
    print(f"{rule:8} {estimates[rule]:.4f} +- {errors[rule]:.4f}, hazard ratio {np.exp(fit.x):.2f}")

# %%
# The share of children in remission (Kaplan and Meier's estimate), and the profile of the log likelihood.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), width_ratios=(3, 2), layout="constrained")
for name, group in (("placebo", on_placebo == 1), ("6-mercaptopurine", on_placebo == 0)):
    stay = np.cumprod(1 - (relapses @ group) / (at_risk @ group))
    left.stairs(np.r_[1, stay], np.r_[0, moments, 35], baseline=None, lw=2, label=name)
left.set(xlabel="weeks", ylabel="share in remission", ylim=(0, 1.02), xlim=(0, 35))
left.legend(frameon=False)
for rule, curve in curves.items():
    right.plot(grid, -curve, label=rule)
right.axhline(-1.92, color="0.5", lw=1, ls=":")
right.text(0.1, -1.8, "95 % interval", color="0.4")
right.set(
    xlabel=r"log hazard ratio $\beta$", ylabel="log likelihood, from its maximum", xlim=(0, 3), ylim=(-6, 0.2)
)
right.legend(frameon=False, loc="lower center")

# %%
known = {"Breslow": 1.5092, "Efron": 1.5721, "error, Breslow": 0.4096, "error, Efron": 0.4124}
found = {**estimates, **{f"error, {rule}": error for rule, error in errors.items()}}
rtol = 1e-3

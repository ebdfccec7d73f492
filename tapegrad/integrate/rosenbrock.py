"""Rodas5P: a Rosenbrock method of order 5 for stiff equations, with the Jacobian and one LU factorization a step.

Its stages are solutions of linear systems, so that nothing is iterated, and the derivatives of a step are those of its
instructions, second derivatives of the right side among them.

References: Steinebach, "Construction of Rosenbrock-Wanner method Rodas5P and numerical benchmarks within the Julia
Differential Equations package", BIT Numer. Math. 63:27, 2023; coefficients as in OrdinaryDiffEq.jl's tableau of that
name. Hairer, Wanner, "Solving Ordinary Differential Equations II", 1996, section IV.7.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.frontend.tensor.modes import restoring, thread
from tapegrad.integrate.method import AcceptedStep, RightSide, like, rms_norm, weighted
from tapegrad.transforms.jvp import jvp

_GAMMA = 0.21193756319429014
_A = (
    (),
    (3.0,),
    (2.849394379747939, 0.45842242204463923),
    (-6.954028509809101, 2.489845061869568, -10.358996098473584),
    (2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641),
    (-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946),
)
_C = (
    (),
    (-14.155112264123755,),
    (-17.97296035885952, -2.859693295451294),
    (147.12150275711716, -1.41221402718213, 71.68940251302358),
    (165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306),
    (24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471),
    (30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783, -19.097331116725623,
     -28.087943162872662),
    (37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047, -40.06618937091002,
     -54.66780262877968, -9.48861652309627),
)  # fmt: skip
_TIMES = (0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1.0, 1.0, 1.0)
_OF_TIME = (
    0.21193756319429014,
    -0.42387512638858027,
    -0.3384627126235924,
    1.8046452872882734,
    2.325825639765069,
)
_INTERPOLANT = (
    (25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204, 0.524948541321073,
     1.1241088310450404, 0.4272876194431874, -0.17202221070155493),
    (-9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796, 20.176138334709044,
     15.98066361424651, -6.789040303419874, -6.710236069923372),
    (11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643, -52.072871366152654,
     -59.78993625266729, -0.15582684282751913, 4.883087185713722),
)  # fmt: skip


class Rodas5P:
    """Rosenbrock method of order 5 with an error estimate of order 4. Its memory: terms of the interpolant, error."""

    name = "Rodas5P"
    fixed = False
    implicit = True
    evaluations = len(_TIMES)
    further_evaluations = 0
    error_order = 4

    def at_rest(self, slope: Any, h: Any) -> tuple[Any, ...]:
        """Return the memory of a step that has not been made, whose slope is that at the begin."""
        none = np.zeros_like(slope)
        return (like(h, slope) * slope, none, none, none)

    @restoring
    def step(
        self, fun: RightSide, t: Any, y: Any, h: Any, memory: Sequence[Any]
    ) -> tuple[Any, tuple[Any, ...]]:
        """Return the state after a step, terms of the interpolant, and the error."""
        thread.mode = thread.mode.but(
            nan_on_failure=True
        )  # of a singular matrix: a smaller step has another one
        size = like(h, y)
        system = fun.jacobian.system(fun.jacobian.at(t, y), 1 / (size * _GAMMA))
        _, of_time = jvp(lambda t: fun(t, y), (t,), (np.ones(()),))
        stages: list[Any] = []
        at = y
        for k, (c, weights) in enumerate(zip(_TIMES, _C, strict=True)):
            at = at + stages[-1] if k >= len(_A) else (y + weighted(_A[k], stages) if k else y)
            right = fun(t + c * h, at)
            if k:
                right = right + weighted(weights, stages) / size
            if k < len(_OF_TIME):
                right = right + (_OF_TIME[k] * size) * of_time
            stages.append(system(right))
        return at + stages[-1], (*(weighted(row, stages) for row in _INTERPOLANT), stages[-1])

    def error_norm(self, memory: Sequence[Any], h: Any, scale: Any) -> Any:
        """Return the norm of the estimated error in units of `scale`."""
        return rms_norm(memory[-1] / scale)

    def interpolated(self, fun: RightSide, step: AcceptedStep, t: Any) -> Any:
        """Return the state at a time within a step, by a polynomial of degree 4."""
        x = like((t - step.t) / step.h, step.y)
        second, third, fourth, _ = step.memory
        rest = 1 - x
        return rest * step.y + x * (step.end + rest * (second + x * (third + x * fourth)))

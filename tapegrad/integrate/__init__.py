"""Integrals and differential equations, by the names and with the arguments of `scipy.integrate`, with derivatives.

In reading order; each imports only those above it:

    tableaus                       coefficients of explicit methods
    method                         explicit methods: one step, its error, its interpolant
    systems                        linear systems with the Jacobian of the slope, dense or in a band
    rosenbrock                     Rodas5P, for stiff equations
    arguments                      SciPy's arguments, checked
    events                         times at which something happens
    steps                          step sizes, and the loop over steps
    outputs                        the solution at given times, and derivatives by what was not reached
    radau                          Radau's method, for stiff equations
    dense                          the solution as a function of time
    result                         SciPy's result
    solve                          `solve_ivp`
    odeint                         `odeint`
    quad                           `quad`

It imports the rooms up to `implicit`.
"""

from typing import TYPE_CHECKING

from tapegrad.integrate.odeint import odeint as odeint
from tapegrad.integrate.quad import quad as quad
from tapegrad.integrate.solve import solve_ivp as solve_ivp

if not TYPE_CHECKING:  # which knows the names

    def __getattr__(name: str) -> object:
        """Name what there is, for a name that is not there."""
        if name.startswith("_"):
            raise AttributeError(f"module 'tapegrad.integrate' has no attribute {name!r}")
        raise AttributeError(
            f"tapegrad.integrate has no {name}: there are solve_ivp, odeint and quad; for sampled data write"
            " np.trapezoid"
        )

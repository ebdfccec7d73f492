"""`Model`: a posterior's parameters and log density, written once for tapegrad and for plain NumPy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from perf.posteriors.transforms import Transform

Parameters = dict[str, Any]


@dataclass(frozen=True)
class Model:
    """Model: functions of a namespace (tapegrad, or `plain`) and of parameters by name.

    Attributes
    ----------
    transforms
        The support of each parameter.
    density
        Log density of constrained parameters, up to a constant.
    derived
        Variables of the reference draws that are functions of the parameters.
    volume
        Logarithm of the Jacobian of a derived variable that the reference has in place of a parameter.
    error
        Relative error that differences of the density may have beside Stan's: those of both integrators.
    about
        Unconstrained parameters that chains begin about, where 0 is far off.
    """

    transforms: Mapping[str, Transform]
    density: Callable[[Any, Parameters], Any]
    derived: Callable[[Any, Parameters], Parameters] = lambda xp, p: {}
    volume: Callable[[Any, Parameters], Any] = lambda xp, p: 0.0
    error: float = 1e-9
    about: Parameters = field(default_factory=dict)

    @property
    def start(self) -> Parameters:
        """Unconstrained parameters that chains begin about: 0, or what `about` has."""
        zeros = {name: np.zeros(each.shape) if each.shape else 0.0 for name, each in self.transforms.items()}
        return zeros | self.about

    @property
    def size(self) -> int:
        """Number of unconstrained parameters."""
        return sum(int(np.prod(each.shape)) for each in self.transforms.values())

    @property
    def names(self) -> list[str]:
        """The parameters in the order in which a vector has them: that of tapegrad's dicts."""
        return sorted(self.transforms)

    def split(self, vector: Any) -> Parameters:
        """Return the unconstrained parameters that are in a vector."""
        parts, first = {}, 0
        for name in self.names:
            shape = self.transforms[name].shape
            stop = first + int(np.prod(shape))
            parts[name], first = (vector[first:stop] if shape else vector[first]), stop
        return parts

    def constrain(self, xp: Any, u: Parameters) -> tuple[Parameters, Any]:
        """Return the constrained parameters, and the logarithm of the determinant."""
        pairs = {name: each.constrain(xp, u[name]) for name, each in self.transforms.items()}
        return {name: value for name, (value, _) in pairs.items()}, sum(term for _, term in pairs.values())

    def log_density(self, xp: Any, u: Parameters) -> Any:
        """Return the log density of unconstrained parameters."""
        values, log_jacobian = self.constrain(xp, u)
        return self.density(xp, values) + log_jacobian + self.volume(xp, values)

    def variables(self, xp: Any, u: Parameters) -> Parameters:
        """Return all variables of a trace."""
        values, _ = self.constrain(xp, u)
        return values | self.derived(xp, values)

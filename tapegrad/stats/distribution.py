"""Base class of the families of distributions: what continuous and discrete ones have in common."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.stats.functions import exp, log_share
from tapegrad.stats.parameters import Domain

Function = Callable[..., Any]
DESCRIBED: dict[str, "Distribution"] = {}  # families by name


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """A family of distributions in its standard form, whose probabilities are functions of variable and shapes.

    Attributes
    ----------
    name
        SciPy's.
    shapes
        The shape parameters, and the domain of each.
    cumulative, survival, log_cumulative, log_survival
        Probabilities. Each may be made of the others; without them there is no closed form.
    """

    name: str
    shapes: dict[str, Domain] = field(default_factory=dict)
    cumulative: Function | None = None
    survival: Function | None = None
    log_cumulative: Function | None = None
    log_survival: Function | None = None
    _probabilities: dict[str, Function | None] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        share = self.cumulative or _exponential(self.log_cumulative)
        rest = self.survival or _exponential(self.log_survival)
        probabilities = {
            "cdf": share,
            "sf": rest,
            "logcdf": self.log_cumulative or _logarithm(share, rest),
            "logsf": self.log_survival or _logarithm(rest, share),
        }
        object.__setattr__(self, "_probabilities", probabilities)  # frozen
        DESCRIBED[self.name] = self

    def __repr__(self) -> str:
        return f"<tapegrad.stats.{self.name}>"

    def _full(self, method: str) -> str:
        return f"tapegrad.stats.{self.name}.{method}"

    def _standard(
        self, x: Any, args: tuple[Any, ...], kwds: dict[str, Any], method: str
    ) -> tuple[Tensor, list[Any], Any]:
        """Return the standard variable, the shape parameters and the scale."""
        raise NotImplementedError

    def _inside(self, z: Tensor, shapes: list[Any], value: Any, below: float, above: float) -> Tensor:
        """Return a value inside of the support, and others below and above it; nan stays nan."""
        raise NotImplementedError

    def _step(self, z: Tensor) -> Tensor:
        """Return where a probability is computed for a standard variable."""
        return z

    def _probability(
        self, method: str, x: Any, args: tuple[Any, ...], kwds: dict[str, Any], ends: tuple[float, float]
    ) -> Tensor:
        """Compute a probability or its logarithm, which has the values `ends` below and above the support."""
        compute = self._probabilities[method]
        if compute is None:
            raise NotImplementedError(f"{self._full(method)}: there is no closed form of it")
        z, shapes, _ = self._standard(x, args, kwds, method)
        return self._inside(z, shapes, compute(self._step(z), *shapes), *ends)


def _exponential(function: Function | None) -> Function | None:
    return None if function is None else lambda z, *shapes: exp(function(z, *shapes))


def _logarithm(share: Function | None, rest: Function | None) -> Function | None:
    """Make the logarithm of a probability, from its function and that of what it lacks to 1."""
    if share is None or rest is None:
        return None

    return lambda z, *shapes: log_share(share(z, *shapes), rest(z, *shapes))

"""Transforms: constrained parameters of unconstrained numbers, with the logarithms of their Jacobians."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Transform(ABC):
    """Map from all numbers to a support; `shape` is that of the unconstrained numbers, () for one."""

    shape: tuple[int, ...] = ()

    @abstractmethod
    def constrain(self, xp: Any, u: Any) -> tuple[Any, Any]:
        """Return the constrained value, and the logarithm of the Jacobian's determinant."""


class Real(Transform):
    """All numbers."""

    def constrain(self, xp: Any, u: Any) -> tuple[Any, Any]:
        return u, 0.0


class Positive(Transform):
    """Numbers above 0."""

    def constrain(self, xp: Any, u: Any) -> tuple[Any, Any]:
        return xp.exp(u), xp.sum(u)


class UnitInterval(Transform):
    """Numbers between 0 and 1."""

    def constrain(self, xp: Any, u: Any) -> tuple[Any, Any]:
        return xp.sigmoid(u), -xp.sum(xp.logaddexp(0.0, u) + xp.logaddexp(0.0, -u))


class Ordered(Transform):
    """Vectors whose elements increase: the first element, and the logarithms of the differences."""

    def constrain(self, xp: Any, u: Any) -> tuple[Any, Any]:
        return xp.cumsum(xp.concatenate([u[:1], xp.exp(u[1:])])), xp.sum(u[1:])


class PositiveOrdered(Transform):
    """Vectors whose elements increase from above 0."""

    def constrain(self, xp: Any, u: Any) -> tuple[Any, Any]:
        return xp.cumsum(xp.exp(u)), xp.sum(u)


class Simplex(Transform):
    """Vectors of n + 1 positive elements with the sum 1: n logarithms of their ratios to the last one."""

    def constrain(self, xp: Any, u: Any) -> tuple[Any, Any]:
        ratios = xp.concatenate([xp.exp(u), [1.0]])
        value = ratios / xp.sum(ratios)
        return value, xp.sum(xp.log(value))

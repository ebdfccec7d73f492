"""Derivatives of analytic functions of complex numbers, by the gradients of their real parts.

The gradient of the real part of ``f = u + 1j * v`` by ``z = x + 1j * y`` is ``u_x + 1j * u_y``. By the equations of
Cauchy and Riemann ``u_y = -v_x``, so that it is the conjugate of ``f'(z) = u_x + 1j * v_x``. Of a function that is not
analytic this is the derivative of no function: nothing tells the two apart without a second sweep.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.errors import check_function
from tapegrad.frontend.conversions.complex_views import real_part
from tapegrad.frontend.recording.elementwise import FUNCTIONS
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.program.recording.calling import value_and_aux
from tapegrad.pytree import flatten, unflatten
from tapegrad.transforms.base import Transform
from tapegrad.transforms.calling.argnums import checked_argnums


class RealPart(Transform):
    """The real part of a function, and beside it all that the function returned.

    Parameters
    ----------
    name
        The public function, for messages.
    """

    def __init__(self, function: Callable[..., Any], name: str, argnums: Any, has_aux: bool) -> None:
        self.name = name
        check_function(name, function)
        super().__init__(function)
        self._argnums, self._has_aux = checked_argnums(argnums), has_aux

    @property
    def settings(self) -> tuple[Any, ...]:
        return self.name, self._argnums, self._has_aux

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._check_arguments(args)
        returned = self.function(*args, **kwargs)
        value, _ = value_and_aux(self.name, returned, self._has_aux)
        dtype = value.dtype if is_tensor(value) else np.asarray(value).dtype
        if dtype.kind != "c":
            raise TypeError(
                f"{self.name}: with holomorphic=True the function must return complex numbers, but it returned {dtype};"
                " leave holomorphic out for the gradient of a real function"
            )
        return real_part(value) if is_tensor(value) else np.real(value), returned

    def _check_arguments(self, args: tuple[Any, ...]) -> None:
        """Raise unless all arguments to differentiate by are complex."""
        numbers = self._argnums if isinstance(self._argnums, tuple) else (self._argnums,)
        for number in numbers:
            for leaf in flatten(args[number])[0]:
                if leaf.dtype.kind != "c":
                    raise TypeError(
                        f"{self.name}: with holomorphic=True argument {number} must be complex, but it is"
                        f" {leaf.dtype}; write x.astype(complex)"
                    )


class AnalyticDerivative(Transform):
    """Derivative of an analytic function: the conjugate of the gradient, or the Jacobian, of its real part.

    Parameters
    ----------
    of_real_part
        The gradient or the Jacobian of a `RealPart`, with all that the function returned beside it.
    valued
        Whether the value is returned before the derivative.
    """

    def __init__(
        self, function: Callable[..., Any], of_real_part: Any, has_aux: bool, valued: bool = False
    ) -> None:
        self.name = of_real_part.name
        super().__init__(function)
        self._of_real_part, self._has_aux, self._valued = of_real_part, has_aux, valued

    @property
    def settings(self) -> tuple[Any, ...]:
        return type(self._of_real_part), self._of_real_part.settings, self._has_aux, self._valued

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        gradient, returned = self._of_real_part(*args, **kwargs)
        leaves, definition = flatten(gradient)
        derivative = unflatten(definition, list(map(_conjugate, leaves)))
        if self._valued:
            return returned, derivative
        return (derivative, returned[1]) if self._has_aux else derivative


def _conjugate(value: Any) -> Any:
    return FUNCTIONS["conjugate"](value) if is_tensor(value) else np.conjugate(value)

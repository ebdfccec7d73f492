"""`lmfit`: residuals of lmfit's parameters with exact Jacobians: fixed, bounded, and tied by expressions."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tapegrad.errors import check_function, name_of
from tapegrad.frontend.functions.reductions.reductions import sum as total
from tapegrad.transforms.grad import grad
from tapegrad.transforms.jacobians.jacobian import jacobian
from tapegrad.transforms.jit import jit


def lmfit(function: Callable[..., Any], params: Any) -> "LmfitResidual":
    """Make residuals with derivatives for `lmfit.minimize`.

    Parameters
    ----------
    function : callable
        ``function(p, *args, **kws)`` returns residuals, an array, or a number that is to be small. ``p["name"]`` is the
        value of each parameter, fixed and tied ones included; ``p.valuesdict()`` is a dict of them.
    params : lmfit.Parameters
        The parameters. Which of them vary, and their expressions, are those that lmfit passes later.

    Returns
    -------
    LmfitResidual
        A function as lmfit takes it, with the Jacobian by the parameters that vary, in lmfit's order, as `jac`:

        * ``lmfit.minimize(f, params, Dfun=f.jac)``, the default method "leastsq";
        * ``lmfit.minimize(f, params, method="least_squares", jac=f.jac)``;
        * ``lmfit.minimize(f, params, method="bfgs", jac=f.gradient)`` and the other methods that minimize a number,
          which for residuals is the sum of their squares.

    Raises
    ------
    TypeError
        If `params` are no parameters of lmfit's.

    Notes
    -----
    lmfit itself multiplies derivatives by those of its transforms of bounds. An expression is differentiated by the
    parameters that it names; its functions are NumPy's, as lmfit has them.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> t = np.linspace(0, 4, 20)
    >>> data = 3.0 * np.exp(-t / 1.5)
    >>> def residual(p):
    ...     return p["amplitude"] * np.exp(-t / p["tau"]) - data
    >>> params = lmfit.create_params(amplitude=1.0, tau={"value": 1.0, "min": 0.1})  # doctest: +SKIP
    >>> f = tg.interop.lmfit(residual, params)  # doctest: +SKIP
    >>> fit = lmfit.minimize(f, params, Dfun=f.jac)  # doctest: +SKIP
    """
    check_function("interop.lmfit", function)
    if not hasattr(params, "valuesdict") or not hasattr(params, "_asteval"):
        raise TypeError(
            f"interop.lmfit takes lmfit.Parameters, not {type(params).__name__}: lmfit.create_params(a=1.0, b=2.0)"
        )
    return LmfitResidual(function)


class LmfitResidual:
    """Residuals as lmfit takes them, and their derivatives; made by `tapegrad.interop.lmfit`.

    Parameters
    ----------
    function
        The function of values by name.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._forms: dict[tuple[Any, ...], _Form] = {}
        self.__name__ = name_of(function)

    def __repr__(self) -> str:
        return f"<residuals of lmfit's parameters: {self.__name__}>"

    def __call__(self, params: Any, *args: Any, **kws: Any) -> Any:
        """Compute the residuals, an array of float64 or a number."""
        form, varying, fixed = self._form(params)
        return form.residuals(varying, fixed, *args, **kws)

    def jac(self, params: Any, *args: Any, **kws: Any) -> np.ndarray:
        """Compute the derivatives by the parameters that vary: (residuals, parameters), of a number (parameters,)."""
        form, varying, fixed = self._form(params)
        found: np.ndarray = form.jacobian(varying, fixed, *args, **kws)
        return found

    def gradient(self, params: Any, *args: Any, **kws: Any) -> np.ndarray:
        """Compute the gradient of what lmfit minimizes: the number, or the sum of the squares of residuals."""
        form, varying, fixed = self._form(params)
        found: np.ndarray = form.gradient(varying, fixed, *args, **kws)
        return found

    def _form(self, params: Any) -> tuple["_Form", np.ndarray, np.ndarray]:
        """Return the functions for parameters of these kinds, and the values that vary and those that do not."""
        tied = tuple((name, p.expr) for name, p in params.items() if p.expr is not None)
        varies = tuple(name for name, p in params.items() if p.vary and p.expr is None)
        fixed = tuple(name for name, p in params.items() if not p.vary and p.expr is None)
        form = self._forms.get((tied, varies, fixed))
        if form is None:
            form = self._forms[tied, varies, fixed] = _Form(self._function, tied, varies, fixed, params)
        return form, _values(params, varies), _values(params, fixed)


def _values(params: Any, names: tuple[str, ...]) -> np.ndarray:
    return np.array([params[name].value for name in names], float)


class _Form:
    """Functions of the values of parameters, for one choice of those that vary and those that are tied."""

    def __init__(
        self,
        function: Callable[..., Any],
        tied: tuple[tuple[str, str], ...],
        varies: tuple[str, ...],
        fixed: tuple[str, ...],
        params: Any,
    ) -> None:
        symbols = {
            name: value
            for name, value in params._asteval.symtable.items()  # noqa: SLF001  lmfit has no other name for it
            if name not in params
        }
        codes = {name: compile(expr.strip(), f"<{name} of lmfit>", "eval") for name, expr in tied}

        def residuals(varying: Any, held: Any, *args: Any, **kws: Any) -> Any:
            known = {name: varying[k] for k, name in enumerate(varies)}
            known |= {name: held[k] for k, name in enumerate(fixed)}
            return function(Values(params, known, codes, symbols), *args, **kws)

        def reduced(varying: Any, held: Any, *args: Any, **kws: Any) -> Any:
            found = residuals(varying, held, *args, **kws)
            return total(found * found) if np.ndim(found) else found

        self.residuals = jit(residuals)
        self.jacobian = jit(jacobian(residuals))
        self.gradient = jit(grad(reduced))


class Values(dict[str, Any]):
    """The values of parameters by name, those of expressions included.

    Parameters
    ----------
    order
        The names, in the order of the parameters.
    known
        Values that are no expressions.
    codes
        The compiled expressions by name.
    symbols
        The functions and numbers that expressions may name.
    """

    def __init__(
        self, order: Any, known: Mapping[str, Any], codes: Mapping[str, Any], symbols: Mapping[str, Any]
    ) -> None:
        table = _Symbols(known, codes, symbols)
        super().__init__((name, table[name]) for name in order)

    def valuesdict(self) -> dict[str, Any]:
        """Return the values as a dict, as `lmfit.Parameters` does."""
        return dict(self)


class _Symbols(dict[str, Any]):
    """Symbols of expressions: functions and parameters, of which the tied ones are computed when they are asked for."""

    def __init__(
        self, known: Mapping[str, Any], codes: Mapping[str, Any], symbols: Mapping[str, Any]
    ) -> None:
        super().__init__(known)
        self._codes, self._symbols = codes, symbols

    def __missing__(self, name: str) -> Any:
        if name not in self._codes:
            return self._symbols[name]
        value = eval(self._codes[name], {"__builtins__": {}}, self)
        self[name] = value
        return value

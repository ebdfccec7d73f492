"""`root`: SciPy's, with exact Jacobians and derivatives of the root; and Newton's method in compiled code."""

from collections.abc import Callable
from typing import Any

from tapegrad.errors import UnsupportedError, check_function
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.implicit.custom_root import system_of
from tapegrad.implicit.solutions import Formulation, is_recording
from tapegrad.optimize.arguments import callback_on, without_defaults
from tapegrad.optimize.flat import FlatVector, raveled
from tapegrad.optimize.residuals import Residuals
from tapegrad.optimize.solutions.newton import newton
from tapegrad.optimize.solutions.results import Search, differentiated
from tapegrad.optimize.vector_function import known_target
from tapegrad.transforms.base import ConfiguredTransform, replay_of

_WITH_JACOBIAN = frozenset({"hybr", "lm"})
_XTOL, _MAXITER = 1.49012e-8, 100


@hides_frames
def root(
    fun: Callable[..., Any] | Residuals,
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    *,
    check: bool = True,
    solve: Any = "auto",
    **options: Any,
) -> Any:
    """Solve equations by `scipy.optimize.root`, with the exact Jacobian and derivatives by `args`.

    Parameters
    ----------
    fun : callable or Residuals
        Takes an array, or a list, tuple or dict of arrays like `x0`, then `args`; returns as many numbers.
    x0 : array_like or structure of arrays
        Where to start. There is no derivative by it.
    args : tuple, optional
        Further arguments of `fun`. By Tensors among them, and those that `fun` closes over, the root is differentiated.
    method : str, default "hybr"
        As in SciPy; "hybr" and "lm" are given the exact Jacobian. ``"newton"`` is Newton's method, compiled where it is
        recorded, with shorter steps where the largest residual would grow.
    check : bool, default True
        Whether a derivative of a root that was not found, with ``success=False``, raises; otherwise it is that of the
        equations at the last iterate.
    solve : {"auto", "gmres", "cg"}
        How systems with the Jacobian are solved for derivatives, as of `tapegrad.custom_root`.
    **options
        ``tol``, ``callback`` and ``options`` as SciPy takes them. Options of "newton" are ``xtol``, the relative size
        of the last step, by default ``tol`` or 1.49e-8, and ``maxiter``, by default 100.

    Returns
    -------
    scipy.optimize.OptimizeResult
        SciPy's result. ``x`` has the structure of `x0`; its leaves are Tensors if there are some among `args`. Where a
        function is recorded, it has numbers alone, and no ``message``.

    Raises
    ------
    NotConvergedError
        By derivatives of a root that was not found.
    LinAlgError
        By derivatives, if the Jacobian is singular at the root.
    TypeError
        For an argument ``jac`` other than `None` and `False`: the Jacobian is known.

    See Also
    --------
    tapegrad.custom_root : For solvers of any other kind.

    Examples
    --------
    >>> import tapegrad as tg
    >>> def equations(x, p):
    ...     return [x[0] + x[1] - p[0], x[0] * x[1] - p[1]]
    >>> def larger(p):
    ...     return tg.optimize.root(lambda x, p: tg.stack(equations(x, p)), [4.0, 1.0], args=(p,)).x[0]
    >>> p = tg.tensor([5.0, 6.0])
    >>> x = larger(p)
    >>> x.backward()
    >>> x, p.grad
    (Tensor(3.), array([ 3., -1.]))
    >>> def by_newton(p):
    ...     return tg.optimize.root(lambda x, p: tg.stack(equations(x, p)), [4.0, 1.0], (p,), method="newton").x[0]
    >>> tg.grad(tg.jit(by_newton))(p.data).round(12)
    array([ 3., -1.])
    """
    if not isinstance(fun, Residuals):
        check_function("root", fun)
    options = without_defaults(options, "Jacobian", "root")
    args = args if isinstance(args, tuple) else (args,)
    function, target, args = known_target(Residuals, fun, x0, args)
    formulation = Formulation("root", function.stated, function.stated, system_of("root", solve, False))
    rules = function.once(("rules", solve), dict[Any, Any])
    start = raveled(x0, target.layout)
    if method != "newton":
        search = Search(_by_scipy(target, method, options))
        return differentiated(formulation, search, start, args, check, rules)
    limits = _limits(options)
    newton_search = replay_of(_NewtonSearch(function.recorded, target.layout, *limits))
    result = differentiated(formulation, newton_search, start, args, check, rules, record=True)
    if not is_recording():
        result["message"] = _message(result, limits[1])
    return result


def _by_scipy(target: Residuals, method: str, options: dict[str, Any]) -> Callable[..., Any]:
    """Return a search by SciPy."""
    from scipy.optimize import root as scipy_root

    options["callback"] = callback_on(options.get("callback"), target.layout)
    fun, jacobian = target.fun, target.jac if method in _WITH_JACOBIAN else None
    if jacobian is not None and type(target) is Residuals:
        fun = target.replayed  # MINPACK calls with vectors of float64

    def find(start: Any, *args: Any) -> tuple[Any, Any, tuple[Any, ...]]:
        try:
            found = scipy_root(fun, start, args, method, jacobian, **options)
        except (TypeError, ValueError) as error:
            _check_count(target.fun(start, *args).size, start.size, target.layout.has_complex, error)
            raise
        return target.unravel(found.x), found, ()

    return find


def _check_count(numbers: int, unknowns: int, has_complex: bool, error: Exception | None = None) -> None:
    """Raise if there are not as many numbers as unknowns: SciPy's messages speak of wrappers and of other calls."""
    if numbers != unknowns:
        complex_x0 = (
            "complex ones of fun and x0 count twice" if has_complex else "complex ones of fun count twice"
        )
        hint = "" if has_complex else ", and are found from a complex x0: x0 + 0j"
        raise ValueError(
            f"root: fun returned {numbers} numbers, and x0 has {unknowns} ({complex_x0}{hint}); a root has as many"
            " equations as unknowns, for others there is least_squares"
        ) from error


def _limits(options: dict[str, Any]) -> tuple[float, int]:
    """Return the options ``xtol`` and ``maxiter`` of Newton's method."""
    own = dict(options.pop("options", None) or {})
    xtol = float(own.pop("xtol", options.pop("tol", None) or _XTOL))
    maxiter = int(own.pop("maxiter", _MAXITER))
    if own or options:
        raise UnsupportedError(
            f"root: method 'newton' takes tol, and the options xtol and maxiter, not {', '.join([*own, *options])}"
        )
    return xtol, maxiter


class _NewtonSearch(ConfiguredTransform):
    """Search of a function's root by Newton's method."""

    name = "root"

    def __call__(self, start: Any, *args: Any) -> tuple[Any, Any, tuple[Any, ...]]:
        layout, *limits = self.settings

        def of_vector(x: Any) -> Any:
            found = FlatVector(self.function, layout)(x, *args)
            _check_count(found.size, x.size, layout.has_complex)
            return found

        x, report = newton(of_vector, start, *limits)
        return layout.split(x), report, ()


def _message(report: Any, maxiter: int) -> str:
    """Return how a search by Newton's method has ended."""
    if report["success"]:
        return "The solution converged."
    if report["nit"] >= maxiter:
        return f"The number of iterations has reached maxiter={maxiter}."
    return "No step makes the residual smaller, or the Jacobian is singular at the last iterate."

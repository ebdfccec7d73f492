"""`fixed_point`: SciPy's, with derivatives."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tapegrad.errors import check_function, name_of
from tapegrad.frontend.tensor.array_checks import real, refuse_complex
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.implicit.custom_root import system_of
from tapegrad.implicit.equation import System
from tapegrad.implicit.iterative import IterativeSystem
from tapegrad.implicit.known import known, lifted
from tapegrad.implicit.solutions import Formulation, Solution, with_derivatives
from tapegrad.implicit.solver_calls import called
from tapegrad.loops.carry import leaf_of
from tapegrad.loops.while_loop import repeated
from tapegrad.transforms.base import ConfiguredTransform, replay_of, without_jit


@hides_frames
def fixed_point(
    func: Callable[..., Any],
    x0: Any,
    args: Any = (),
    xtol: float = 1e-8,
    maxiter: int = 500,
    method: Literal["del2", "iteration"] = "del2",
    *,
    solver: Literal["auto", "gmres", "iterate"] = "auto",
) -> Any:
    """Compute a fixed point, ``func(x, *args) == x``, as `scipy.optimize.fixed_point`, with derivatives.

    Parameters
    ----------
    func : callable
        Takes an array and `args`, and returns an array like it.
    x0 : array_like
        Where to start. There is no derivative by it.
    args : tuple, optional
        Further arguments of `func`. By Tensors among them, and those that `func` closes over, the point is
        differentiated.
    xtol : float, default 1e-8
        Relative change of each element at which the iteration ends.
    maxiter : int, default 500
        Most iterations.
    method : {"del2", "iteration"}
        Steffensen's method with Aitken's acceleration, or iteration of `func`.
    solver : {"auto", "gmres", "iterate"}
        How systems with the Jacobian of ``func(x) - x`` are solved for derivatives: "auto" and "gmres" as of
        `tapegrad.custom_root`; "iterate" by an iteration that takes one product with the Jacobian of `func` a step, for
        contractions of many unknowns.

    Returns
    -------
    numpy.ndarray or Tensor
        The fixed point: a Tensor if there are some among `args`.

    Raises
    ------
    RuntimeError
        If the iteration has not converged.
    ValueError
        For another `method` or `solver`.

    See Also
    --------
    root : For equations.

    Notes
    -----
    In a function that is recorded, the iteration is one compiled loop.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> def kepler(x, mean, eccentricity):
    ...     return mean + eccentricity * np.sin(x)
    >>> def anomaly(e):
    ...     return tg.optimize.fixed_point(kepler, 0.5, args=(0.5, e))
    >>> value, gradient = tg.value_and_grad(anomaly)(0.1)
    >>> np.round([value, gradient], 6)
    array([0.55248 , 0.573629])
    """
    check_function("fixed_point", func)
    if method not in ("del2", "iteration"):
        raise ValueError(f"fixed_point: method={method!r}; it must be 'del2' or 'iteration'")
    args = args if isinstance(args, tuple) else (args,)
    x0 = x0 if is_tensor(x0) else real(x0, "fixed_point: x0", None)
    if x0.dtype.kind == "c":
        refuse_complex(x0.dtype, "fixed_point: x0")
    x0 = x0 if x0.dtype.kind == "f" else x0.astype(np.float64)
    func, args = lifted(func, args)
    function = known(func, args, (x0.shape, x0.dtype))
    stated = function.stated
    system: System = IterativeSystem("fixed_point", solver)
    if solver != "iterate":
        system = system_of("fixed_point", solver, False)

    def residual(x: Any, *args: Any) -> Any:
        return stated(x, *args) - x

    recorded = replay_of(_Iteration(function.recorded, float(xtol), int(maxiter), method == "del2"))
    x = called(f"fixed_point({name_of(func)})", recorded, (x0, *args), {}, True)
    formulation = Formulation("fixed_point", stated, residual, system)
    rules = function.once(("rules", solver), dict[Any, Any])
    return with_derivatives(Solution("fixed_point", formulation, x, args, {}), rules)


class _Iteration(ConfiguredTransform):
    """Search of a function's fixed point."""

    name = "fixed_point"

    def __call__(self, x: Any, *args: Any) -> Any:
        return _iterated(lambda x: without_jit(self.function)(x, *args), leaf_of(x), *self.settings)


def _iterated(f: Callable[[Any], Any], x0: Any, xtol: float, maxiter: int, accelerated: bool) -> Any:
    """Iterate as SciPy does, until all elements have changed by a relative size below `xtol`."""

    def following(state: Any) -> Any:
        x, _ = state
        first = f(x)
        end = first
        if accelerated:
            second = f(first)
            curvature = second - 2.0 * first + x
            is_line = curvature == 0
            end = np.where(is_line, second, x - (first - x) ** 2 / np.where(is_line, 1.0, curvature))
        change = np.where(x == 0, end, (end - x) / np.where(x == 0, 1.0, x))
        return end, np.max(abs(change))

    def goes_on(state: Any) -> Any:
        return ~(state[1] < xtol)

    none = np.asarray(np.inf, x0.dtype)
    return repeated(goes_on, following, (x0, none), maxiter, name="fixed_point")[0]

"""`laplace`: the marginal density of data, with random effects integrated out."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.errors import NoModeError, check_function
from tapegrad.frontend.tensor.modes import restoring, thread
from tapegrad.frontend.words.frames import hides_frames, program_level
from tapegrad.latent.effects import Effects, Random, checked_random, joint_of, with_tied
from tapegrad.latent.marginal import implied_mode, marginal
from tapegrad.latent.mode import FOUND, reason
from tapegrad.program.recording.signature import has_tensor
from tapegrad.pytree import flatten, unflatten
from tapegrad.transforms.base import Transform, replay_of, replayable
from tapegrad.transforms.jacobians.sparse import hessian
from tapegrad.transforms.jit import Jit


class _OfEffects(Transform):
    """Function made of a joint density, which is recorded and replayed.

    Attributes
    ----------
    random
        Which of its arguments are effects.
    map
        Which parameters are fixed, or share a value; arrays of integers, as they were when it was made.
    """

    name = "laplace"

    def __init__(self, function: Callable[..., Any], random: Random, map: Any = None) -> None:
        super().__init__(function if replayable(function) is not None else Jit(function))
        leaves, definition = flatten(map)
        numbers = [np.array(leaf) for leaf in leaves if leaf is not None]
        self.random, self.map = random, unflatten(definition, numbers) if numbers else None
        self._map_key = definition, tuple((each.shape, each.dtype.str, each.tobytes()) for each in numbers)

    @property
    def settings(self) -> tuple[Any, ...]:
        return self.random, self._map_key

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if has_tensor(args, kwargs) or thread.mode.nested:
            effects = Effects(args, self.random)
            if self.map is not None:
                effects = Effects(with_tied(args, self.random, self.map), self.random)
            return self._recorded(joint_of(self.function, effects, kwargs), effects)
        return replay_of(self)(*args, **kwargs)

    def _recorded(self, joint: Callable[[Any], Any], effects: Effects) -> Any:
        raise NotImplementedError


class WithMode(_OfEffects):
    """Function that returns a marginal density, and the search for the mode; the latter has no gradient."""

    def _recorded(self, joint: Callable[[Any], Any], effects: Effects) -> Any:
        value, search = marginal(joint, effects.vector)
        return value, (search.best, search.status, search.steps)


class _Mode(_OfEffects):
    """Function that returns the mode, which has derivatives, and the status of the search."""

    def _recorded(self, joint: Callable[[Any], Any], effects: Effects) -> Any:
        mode, search = implied_mode(joint, effects.vector)
        return effects.structure(mode), search.status


class _Pattern(_OfEffects):
    """Function that returns the pattern of the Hessian."""

    @restoring
    def _recorded(self, joint: Callable[[Any], Any], effects: Effects) -> Any:
        return hessian(joint, 0, False, True, None).values.with_layout((effects.vector,), {})[1].patterns


class Marginal(_OfEffects):
    """Marginal density, with random effects integrated out; made by `laplace`."""

    def _recorded(self, joint: Callable[[Any], Any], effects: Effects) -> Any:
        return marginal(joint, effects.vector)[0]

    @hides_frames
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = super().__call__(*args, **kwargs)
        if isinstance(found, np.generic | np.ndarray) and not np.isfinite(found):
            status = WithMode(self.function, self.random, self.map)(*args, **kwargs)[1][1]
            if status != FOUND:
                warnings.warn(
                    f"laplace: inf, for {reason(status)}", RuntimeWarning, stacklevel=program_level()
                )
        return found

    @hides_frames
    def mode(self, *args: Any, **kwargs: Any) -> Any:
        """Find the effects with the largest joint density.

        Parameters
        ----------
        *args, **kwargs
            Arguments of the joint density; the search begins at the effects among them.

        Returns
        -------
        effects
            Of the structure of the effects. Of Tensors they are Tensors, with derivatives of all orders.

        Raises
        ------
        NoModeError
            If there is no mode, or none was found.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> marginal = tg.laplace(lambda a, u: tg.sum((u - a) ** 2), random=1)
        >>> marginal.mode(3.0, np.zeros(2))
        array([3., 3.])
        """
        found, status = _Mode(self.function, self.random, self.map)(*args, **kwargs)
        if not isinstance(status, np.generic | np.ndarray | float):
            return found
        if status != FOUND:
            raise NoModeError(f"laplace: {reason(status)}")
        return found

    def hessian_pattern(self, *args: Any, **kwargs: Any) -> Any:
        """Return where the Hessian of the joint density by the effects may have entries.

        Parameters
        ----------
        *args, **kwargs
            Arguments of the joint density.

        Returns
        -------
        Pattern
            Print it to see it.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> marginal = tg.laplace(lambda a, u: tg.sum((u[1:] - a * u[:-1]) ** 2) + u[0] ** 2, random=1)
        >>> print(marginal.hessian_pattern(0.5, np.zeros(4)))
        4 x 4, 10 entries (62 %), 3 colours
        ##..
        ###.
        .###
        ..##
        """
        return _Pattern(self.function, self.random, self.map)(*args, **kwargs)


@hides_frames
def laplace(function: Callable[..., Any], random: Any, *, map: Any = None) -> Marginal:
    """Make the marginal density of a model with random effects, by Laplace's approximation.

    Parameters
    ----------
    function : callable
        Minus the logarithm of the joint density of data and effects: a scalar function of parameters and effects, in
        plain NumPy. It is recorded, and replayed after.
    random : int, tuple of int, str or tuple of str
        Which arguments are effects; or, if the first argument is a dict of parameters, which of its keys. Effects are
        arrays or structures of arrays. What they are at a call is where the search for their mode begins.
    map : array_like of int, or dict of them, optional
        What is fixed, or shares a value, among the parameters in the first argument that is no effect: for an array
        integers of its shape, equal where elements share a value, which is their mean, and -1 where they have no
        gradient; for a dict of parameters some of its keys.

    Returns
    -------
    callable
        Takes the arguments of `function` and returns minus the logarithm of the marginal density: ``f + log(det(H)) / 2
        - n * log(2 * pi) / 2`` at the mode of the `n` effects, with the Hessian `H` of `function` by these. It is exact
        where the density is Gaussian in the effects. Where there is no mode it is inf, and a warning has the reason.
        Its derivatives by the other arguments are exact and of all orders, in both modes; those by the effects are
        zero. It has the methods ``mode``, the effects at the mode, and ``hessian_pattern``.

    Raises
    ------
    TypeError
        If `random` is neither numbers nor keys, the effects are not floats, or `map` is not integers.
    ValueError
        At a call, if `map` does not fit the parameters.

    Warns
    -----
    RuntimeWarning
        For a result of inf.

    See Also
    --------
    tapegrad.optimize.laplace : Fits such a model, with standard errors.

    Notes
    -----
    The mode is found by Newton's method on the sparse Hessian, whose pattern is detected, in compiled code. With fixed
    effects among `random`, too, the result is the restricted likelihood (REML).

    References
    ----------
    Kristensen, Nielsen, Berg, Skaug, Bell, "TMB: automatic differentiation and Laplace approximation", *Journal of
    Statistical Software* 70(5), 2016. Skaug, Fournier, "Automatic approximation of the marginal likelihood in
    non-Gaussian hierarchical models", *Computational Statistics & Data Analysis* 51, 2006.

    Examples
    --------
    Counts of groups, with a random effect each.

    >>> import numpy as np, tapegrad as tg
    >>> counts = np.array([3.0, 0.0, 7.0, 2.0])
    >>> def nll(theta, u):
    ...     eta = theta[0] + tg.exp(theta[1]) * u
    ...     return tg.sum(tg.exp(eta) - counts * eta) + 0.5 * tg.sum(u**2) + 2 * np.log(2 * np.pi)
    >>> marginal = tg.laplace(nll, random=1)
    >>> value, gradient = tg.value_and_grad(marginal)(np.array([1.0, -0.5]), np.zeros(4))
    >>> print(value.round(4), gradient.round(4))
    -1.9753 [ 0.4754 -0.0991]
    """
    check_function("laplace", function)
    return Marginal(function, checked_random(random), map)

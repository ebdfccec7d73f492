"""Effects of regions with neighbours: intrinsic conditional autoregressions, and their sum with independent effects."""

from typing import Any

import numpy as np

from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.stats.densities import norm
from tapegrad.stats.fields.arguments import HALF_LOG_2PI, along, field, normals, parameter, positive
from tapegrad.stats.fields.graphs import Graph, ScaledGraph, read_graph
from tapegrad.stats.functions import log, sqrt, square
from tapegrad.stats.parameters import usable, valid_or_nan


class _GraphField:
    """Field with a value for each node of a graph whose components are scaled, or not."""

    def __init__(self, graph: Any, n: int | None, scale_model: bool) -> None:
        name = f"tapegrad.stats.{type(self).__name__}"
        self._scaled = ScaledGraph(read_graph(graph, n, name), scale_model)
        self._islands = self._scaled.islands if scale_model else np.zeros(0, np.int64)
        sizes = self._scaled.sizes
        self.rank = int(np.sum(sizes - 1)) + len(self._islands)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n}, edges={len(self._graph.first)}, rank={self.rank})"

    @property
    def n(self) -> int:
        """Nodes of the graph."""
        return self._graph.n

    @property
    def components(self) -> np.ndarray:
        """Number of the connected component of each node."""
        return self._scaled.labels

    @property
    def variances(self) -> np.ndarray:
        """Generalised variance of each component for the given weights."""
        return self._scaled.variances

    @property
    def _graph(self) -> Graph:
        return self._scaled.graph

    def _density(self, x: Tensor, deviation: Any) -> Tensor:
        graph = self._graph
        weights = self._scaled.weights.astype(x.dtype)
        quadratic = sum(weights * square(x[..., graph.first] - x[..., graph.second]), -1)
        if len(self._islands):
            quadratic = quadratic + sum(square(x[..., self._islands]), -1)
        constant = 0.5 * self._scaled.logdet - self.rank * HALF_LOG_2PI
        density: Tensor = constant - self.rank * log(deviation) - 0.5 * quadratic / square(deviation)
        return density

    def structure(self) -> Any:
        """Make the structure matrix: the precision for ``sd=1``.

        Returns
        -------
        scipy.sparse.csr_array, shape (n, n)
            The matrix, scaled if the field is; singular.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.stats.besag([[0, 1]], n=3, scale_model=False).structure().toarray()
        array([[ 1., -1.,  0.],
               [-1.,  1.,  0.],
               [ 0.,  0.,  0.]])
        """
        import scipy.sparse

        diagonal = np.zeros(self.n)
        diagonal[self._islands] = 1.0
        made = self._graph.structure(self._scaled.weights) + scipy.sparse.diags_array(diagonal)
        return scipy.sparse.csr_array(made)


class besag(_GraphField):
    """Intrinsic conditional autoregression (ICAR) on a graph: each region is near the mean of its neighbours.

    Attributes
    ----------
    n : int
        Nodes of the graph.
    rank : int
        Rank of the structure matrix: nodes less components of two or more; without `scale_model` less islands, too.
    components : ndarray, shape (n,)
        Number of the connected component of each node.
    variances : ndarray, shape (components,)
        Generalised variance of each component for unit weights of the edges: what `scale_model` divides by. 1 for an
        island.

    Parameters
    ----------
    graph : sparse matrix, shape (n, n), or array_like of int, shape (m, 2)
        Adjacency matrix, symmetric, whose entries are weights of the edges (usually 1); or the pairs of neighbours.
    n : int, optional
        Number of nodes; needed if those with the highest numbers are in no pair.
    scale_model : bool, default True
        Scale each connected component, as R-INLA does, so that its generalised variance (the geometric mean of the
        variances of its nodes, which sum to zero) is ``sd**2``. An island, a node without neighbours, is normal with
        standard deviation `sd` then; without scaling its density is 1 everywhere.

    Raises
    ------
    ValueError
        If the graph is not symmetric, has loops, or weights that are not positive.

    Notes
    -----
    With the structure matrix R, the (scaled) Laplacian of the graph, of rank r, the logarithm of the density is
    ``(-r * log(2 * pi * sd**2) + log(det*(R)) - x @ R @ x / sd**2) / 2``, where det* is the product of the eigenvalues
    other than zero: that of a singular `multivariate_normal` (Rue and Held 2005, (3.18)). R-INLA leaves
    ``log(det*(R))`` out, PyMC's ICAR all but the quadratic form. It does not change if a constant is added to a
    component: leave the intercept out of a model, for the field has it, or see `zero_sum_stdev` of `logpdf`.

    References
    ----------
    Besag, York, Mollié, *Ann. Inst. Stat. Math.* 43, 1991. Sørbye, Rue, *Spatial Statistics* 8, 2014 (scaling).
    Freni-Sterrantino, Ventrucci, Rue, *Spat. Spatio-temporal Epidemiol.* 26, 2018 (components and islands).

    Examples
    --------
    >>> import numpy as np
    >>> import tapegrad as tg
    >>> field = tg.stats.besag([[0, 1], [1, 2], [2, 3], [3, 0]])
    >>> field.variances
    array([0.3125])
    >>> tg.grad(field.logpdf)(np.array([1.0, 0.0, 0.0, 0.0]), 2.0)
    array([-0.15625 ,  0.078125,  0.      ,  0.078125])
    """

    def __init__(self, graph: Any, n: int | None = None, scale_model: bool = True) -> None:
        super().__init__(graph, n, scale_model)

    def logpdf(self, x: Any, sd: Any = 1, zero_sum_stdev: float | None = None) -> Tensor:
        """Compute the logarithm of the density.

        Parameters
        ----------
        x : Tensor or array_like, shape (..., n)
            Fields along the last axis.
        sd : Tensor or array_like, shape (...) or (), default 1
            Standard deviation.
        zero_sum_stdev : float, optional
            Add, as PyMC's ICAR does, the density of the sum of each component of k > 1 nodes as a normal number with
            the standard deviation ``k * zero_sum_stdev``; 0.001 nearly fixes the sum at 0. The Hessian by `x` is dense
            in the components then: this is for samplers, not for Newton's method on large fields.

        Returns
        -------
        Tensor
            Without the last axis; nan where `sd` is not positive.

        Raises
        ------
        ValueError
            If the shapes do not fit.

        Examples
        --------
        >>> import tapegrad as tg
        >>> field = tg.stats.besag([[0, 1], [1, 2]], scale_model=False)
        >>> field.logpdf([1.0, 0.0, -1.0], 2.0)
        Tensor(-2.92486528)
        """
        name = f"tapegrad.stats.{type(self).__name__}.logpdf"
        values = field(x, name, self.n)
        deviation, valid = positive(sd, name)
        density = self._density(values, deviation)
        if zero_sum_stdev is not None:
            density = density + self._density_of_sums(values, zero_sum_stdev)
        return valid_or_nan(density, valid)  # type: ignore[no-any-return]  # functions of the frontend take Any

    def _density_of_sums(self, x: Tensor, zero_sum_stdev: float) -> Any:
        labels, sizes = self._scaled.labels, self._scaled.sizes
        order, starts = np.argsort(labels, kind="stable"), np.cumsum(sizes) - sizes
        total: Any = 0.0
        for k in np.flatnonzero(sizes > 1):
            members = order[starts[k] : starts[k] + sizes[k]]
            total = total + norm.logpdf(sum(x[..., members], -1), 0.0, zero_sum_stdev * float(sizes[k]))
        return total

    def rvs(
        self, sd: float = 1, size: int | tuple[int, ...] | None = None, random_state: Any = None
    ) -> np.ndarray:
        """Draw random fields, each component of which sums to zero; islands that are not scaled are 0.

        Parameters
        ----------
        sd : float, default 1
            Standard deviation.
        size : int or tuple of int, optional
            How many fields: the shape before their axis. None is one field without such an axis.
        random_state : None, int, Generator or RandomState, optional
            Generator of NumPy, or the seed of one.

        Returns
        -------
        ndarray, shape (..., n)
            The fields, constants.

        Examples
        --------
        >>> import tapegrad as tg
        >>> field = tg.stats.besag([[0, 1], [1, 2]])
        >>> bool(abs(field.rvs(random_state=0).sum()) < 1e-14)
        True
        """
        edges = len(self._graph.first)
        noise = normals(random_state, size, edges + len(self._islands))
        made = self._scaled.draw(noise[..., :edges])
        made[..., self._islands] = noise[..., edges:]
        return float(sd) * made


class bym2(_GraphField):
    """Besag-York-Mollié model with one standard deviation and a share: structured and independent effects of regions.

    The effect is ``b = sd * (sqrt(phi) * u + sqrt(1 - phi) * v)`` with a scaled `besag` field u and independent,
    standard normal v. A field is the vector ``(b, u)``, as in R-INLA: its precision is sparse, that of b is not.

    Attributes
    ----------
    n : int
        Nodes of the graph; fields have ``2 * n`` elements.
    rank : int
        Rank of the structure matrix of u.
    components : ndarray, shape (n,)
        Number of the connected component of each node.
    variances : ndarray, shape (components,)
        Generalised variance of each component for the given weights: what u is scaled by.

    Parameters
    ----------
    graph : sparse matrix, shape (n, n), or array_like of int, shape (m, 2)
        Adjacency matrix, or the pairs of neighbours, as for `besag`.
    n : int, optional
        Number of nodes; needed if those with the highest numbers are in no pair.

    Raises
    ------
    ValueError
        If the graph is not symmetric, has loops, or weights that are not positive.

    Notes
    -----
    On an island u is standard normal, so that b has the standard deviation `sd` there, whatever the share. The density
    of u has the constant of `besag`.

    References
    ----------
    Riebler, Sørbye, Simpson, Rue, *Stat. Methods Med. Res.* 25, 2016.

    Examples
    --------
    >>> import tapegrad as tg
    >>> field = tg.stats.bym2([[0, 1], [1, 2]])
    >>> field.logpdf([0.5, 0.0, -0.5, 1.0, 0.0, -1.0], 0.5, 0.8)
    Tensor(-0.91006994)
    """

    def __init__(self, graph: Any, n: int | None = None) -> None:
        super().__init__(graph, n, True)

    def logpdf(self, x: Any, sd: Any = 1, phi: Any = 0.5) -> Tensor:
        """Compute the logarithm of the density of the effects and their structured part.

        Parameters
        ----------
        x : Tensor or array_like, shape (..., 2 * n)
            The effects b, then the structured part u, along the last axis.
        sd : Tensor or array_like, shape (...) or (), default 1
            Standard deviation of the effects.
        phi : Tensor or array_like, shape (...) or (), default 0.5
            Share of the variance that is structured, between 0 and 1.

        Returns
        -------
        Tensor
            Without the last axis; nan where a parameter is outside of its domain.

        Raises
        ------
        ValueError
            If the shapes do not fit.

        Examples
        --------
        >>> import tapegrad as tg
        >>> field = tg.stats.bym2([[0, 1]])
        >>> print(tg.grad(field.logpdf, argnums=2)([0.5, -0.5, 1.0, -1.0], 1.0, 0.5).round(6))
        1.242641
        """
        name = "tapegrad.stats.bym2.logpdf"
        values, n = field(x, name, 2 * self.n), self.n
        deviation, valid = positive(sd, name)
        share = parameter(phi, name)
        inside = (share > 0, share < 1)
        share = usable(usable([share], [inside[0]]), [inside[1]])[0]
        effects, structured = values[..., :n], values[..., n:]
        rest = effects - along(deviation * sqrt(share)) * structured
        variance = square(deviation) * (1.0 - share)
        independent = -0.5 * sum(square(rest), -1) / variance - (0.5 * n) * log(variance) - n * HALF_LOG_2PI
        return valid_or_nan(independent + self._density(structured, 1.0), valid, *inside)  # type: ignore[no-any-return]

    def rvs(
        self,
        sd: float = 1,
        phi: float = 0.5,
        size: int | tuple[int, ...] | None = None,
        random_state: Any = None,
    ) -> np.ndarray:
        """Draw random effects and their structured part.

        Parameters
        ----------
        sd : float, default 1
            Standard deviation of the effects.
        phi : float, default 0.5
            Share of the variance that is structured.
        size : int or tuple of int, optional
            How many fields: the shape before their axis. None is one field without such an axis.
        random_state : None, int, Generator or RandomState, optional
            Generator of NumPy, or the seed of one.

        Returns
        -------
        ndarray, shape (..., 2 * n)
            The fields, constants.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.stats.bym2([[0, 1], [1, 2]]).rvs(size=4, random_state=0).shape
        (4, 6)
        """
        edges, n = len(self._graph.first), self.n
        noise = normals(random_state, size, edges + len(self._islands) + n)
        u = self._scaled.draw(noise[..., :edges])
        u[..., self._islands] = noise[..., edges:-n]
        b = float(sd) * (np.sqrt(float(phi)) * u + np.sqrt(1.0 - float(phi)) * noise[..., -n:])
        return np.concatenate([b, u], -1)

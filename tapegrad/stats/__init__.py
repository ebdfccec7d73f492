"""Distributions, by the names and with the parameters of `scipy.stats`.

    >>> import tapegrad as tg
    >>> loc, scale = tg.tensor(0.0), tg.tensor(2.0)
    >>> tg.sum(tg.stats.norm.logpdf([-1.0, 3.0], loc, scale)).backward()
    >>> loc.grad, scale.grad
    (array(0.5), array(0.25))

Logarithms of densities are computed as such. Outside of the support a density is 0, its logarithm -inf, and every
derivative 0; where a parameter is outside of its domain, results are nan, as in SciPy. Gaussian fields, which SciPy
does not have, carry their names of R-INLA and TMB.

In reading order; each imports only those above it:

    parameters                     parameters as they are given: numbers and Tensors, their domains
    functions                      functions of numbers, which give numbers, and of Tensors
    distribution                   what continuous and discrete distributions have in common
    continuous                     continuous distributions
    circular                       the von Mises distribution
    densities                      the continuous distributions, a description each
    skewed                         the skew normal distribution
    discrete                       discrete distributions
    counts                         the discrete distributions
    entropies                      entropies of given probabilities
    multivariate                   distributions of vectors and matrices
    fields                         Gaussian Markov random fields
    generic                        all other distributions of SciPy, and those of users, by their own code
    scipys_place                   methods of `scipy.stats` that take Tensors

It imports `frontend`.
"""

import importlib
from contextlib import ContextDecorator
from typing import TYPE_CHECKING

from tapegrad.stats.circular import vonmises as vonmises
from tapegrad.stats.counts import bernoulli as bernoulli
from tapegrad.stats.counts import binom as binom
from tapegrad.stats.counts import geom as geom
from tapegrad.stats.counts import nbinom as nbinom
from tapegrad.stats.counts import poisson as poisson
from tapegrad.stats.densities import beta as beta
from tapegrad.stats.densities import cauchy as cauchy
from tapegrad.stats.densities import chi2 as chi2
from tapegrad.stats.densities import expon as expon
from tapegrad.stats.densities import f as f
from tapegrad.stats.densities import gamma as gamma
from tapegrad.stats.densities import genextreme as genextreme
from tapegrad.stats.densities import genpareto as genpareto
from tapegrad.stats.densities import gumbel_l as gumbel_l
from tapegrad.stats.densities import gumbel_r as gumbel_r
from tapegrad.stats.densities import halfcauchy as halfcauchy
from tapegrad.stats.densities import halfnorm as halfnorm
from tapegrad.stats.densities import invgamma as invgamma
from tapegrad.stats.densities import laplace as laplace
from tapegrad.stats.densities import logistic as logistic
from tapegrad.stats.densities import lognorm as lognorm
from tapegrad.stats.densities import norm as norm
from tapegrad.stats.densities import pareto as pareto
from tapegrad.stats.densities import rayleigh as rayleigh
from tapegrad.stats.densities import t as t
from tapegrad.stats.densities import truncnorm as truncnorm
from tapegrad.stats.densities import uniform as uniform
from tapegrad.stats.densities import weibull_min as weibull_min
from tapegrad.stats.entropies import entropy as entropy
from tapegrad.stats.fields.chains import ar1 as ar1
from tapegrad.stats.fields.gmrf import gmrf as gmrf
from tapegrad.stats.fields.grids import matern_grid as matern_grid
from tapegrad.stats.fields.meshes import matern_mesh as matern_mesh
from tapegrad.stats.fields.neighbours import besag as besag
from tapegrad.stats.fields.neighbours import bym2 as bym2
from tapegrad.stats.fields.walks import rw1 as rw1
from tapegrad.stats.fields.walks import rw2 as rw2
from tapegrad.stats.generic.families import from_scipy as from_scipy
from tapegrad.stats.multivariate.elliptical import matrix_normal as matrix_normal
from tapegrad.stats.multivariate.elliptical import multivariate_t as multivariate_t
from tapegrad.stats.multivariate.matrices import multivariate_normal as multivariate_normal
from tapegrad.stats.multivariate.matrices import wishart as wishart
from tapegrad.stats.multivariate.vectors import dirichlet as dirichlet
from tapegrad.stats.multivariate.vectors import multinomial as multinomial
from tapegrad.stats.skewed import skewnorm as skewnorm

if TYPE_CHECKING:
    from tapegrad.stats.generic.families import GenericContinuous, GenericDiscrete

    in_place_of_scipy: type[ContextDecorator]
    (
        alpha, anglit, arcsine, argus, betaprime, bradford, burr, burr12, chi, cosine, crystalball, dgamma,
        dpareto_lognorm, dweibull, erlang, exponnorm, exponpow, exponweib, fatiguelife, fisk, foldcauchy,
        foldnorm, gausshyper, genexpon, gengamma, genhalflogistic, genhyperbolic, geninvgauss, genlogistic,
        gennorm, gibrat, gompertz, halfgennorm, halflogistic, hypsecant, invgauss, invweibull, irwinhall,
        jf_skew_t, johnsonsb, johnsonsu, kappa3, kappa4, ksone, kstwo, kstwobign, landau, laplace_asymmetric,
        levy, levy_l, levy_stable, loggamma, loglaplace, loguniform, lomax, maxwell, mielke, moyal, nakagami,
        ncf, nct, ncx2, norminvgauss, pearson3, powerlaw, powerlognorm, powernorm, rdist, recipinvgauss,
        reciprocal, rel_breitwigner, rice, semicircular, skewcauchy, studentized_range, trapezoid, triang,
        truncexpon, truncpareto, truncweibull_min, tukeylambda, vonmises_line, wald, weibull_max, wrapcauchy,
    ) = [GenericContinuous(None)] * 85  # fmt: skip
    (
        betabinom, betanbinom, boltzmann, dlaplace, hypergeom, logser, nchypergeom_fisher,
        nchypergeom_wallenius, nhypergeom, planck, poisson_binom, randint, skellam, yulesimon, zipf, zipfian,
    ) = [GenericDiscrete(None)] * 16  # fmt: skip
else:  # made when they are asked for: SciPy's take a second to import
    from tapegrad.stats.generic import names as _names

    def __getattr__(name: str) -> object:
        """Make a distribution; `in_place_of_scipy` has been moved to the root."""
        if name == "in_place_of_scipy":
            return importlib.import_module("tapegrad").in_place_of_scipy
        return _names.by_name(name)

    def __dir__() -> list[str]:
        return _names.names_of(globals())

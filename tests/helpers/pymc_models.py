"""Models of PyMC's, of each kind that people fit, with small made-up data."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt

MODELS: dict[str, Callable[[], Any]] = {}


def model(build: Callable[[np.random.Generator], None]) -> Callable[[np.random.Generator], None]:
    """Enter a function that adds variables to the model around it."""

    def made() -> Any:
        with pm.Model() as found:
            build(np.random.default_rng(7))
        return found

    MODELS[build.__name__] = made
    return build


@model
def eight_schools(rng: np.random.Generator) -> None:
    y, sigma = (
        np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]),
        np.array([15.0, 10, 16, 11, 9, 11, 10, 18]),
    )
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
    theta = pm.Deterministic("theta", mu + tau * pm.Normal("raw", shape=8))
    pm.Normal("y", theta, sigma, observed=y)


@model
def radon(rng: np.random.Generator) -> None:
    county, floor = rng.integers(0, 12, 90), rng.integers(0, 2, 90)
    mu, s = pm.Normal("mu", 0, 10, shape=2), pm.HalfNormal("s", 1, shape=2)
    a = pm.Normal("a", mu[0], s[0], shape=12)
    b = pm.Normal("b", mu[1], s[1], shape=12)
    pm.Normal("y", a[county] + b[county] * floor, pm.HalfCauchy("eps", 5), observed=rng.normal(size=90))


@model
def poisson_glmm(rng: np.random.Generator) -> None:
    group, x = rng.integers(0, 6, 60), rng.normal(size=60)
    b = pm.Normal("b", 0, 2, shape=2)
    u = pm.Normal("u", 0, pm.Exponential("s", 1.0), shape=6)
    pm.Poisson("y", pm.math.exp(b[0] + b[1] * x + u[group]), observed=rng.poisson(2.0, 60))


@model
def logit_with_gathers(rng: np.random.Generator) -> None:
    sizes = (5, 4, 3)
    at = [rng.integers(0, n, 120) for n in sizes]
    effects = [pm.Normal(f"a{n}", 0, pm.HalfNormal(f"s{n}", 1), shape=n) for n in sizes]
    logit = pm.Normal("b", 0, 2) + sum(a[i] for a, i in zip(effects, at, strict=True))
    pm.Bernoulli("y", logit_p=logit, observed=rng.integers(0, 2, 120))


@model
def two_parameter_logistic(rng: np.random.Generator) -> None:
    ability, difficulty = pm.Normal("ability", shape=15), pm.Normal("difficulty", shape=6)
    slope = pm.LogNormal("slope", 0, 0.5, shape=6)
    p = pm.math.invlogit(slope * (ability[:, None] - difficulty))
    pm.Bernoulli("y", p, observed=rng.integers(0, 2, (15, 6)))


@model
def correlated_slopes(rng: np.random.Generator) -> None:
    chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0), compute_corr=True)
    raw = pm.Normal("raw", shape=(2, 7))
    b = pt.dot(chol, raw).T
    at, x = rng.integers(0, 7, 50), rng.normal(size=50)
    pm.Normal("y", b[at, 0] + b[at, 1] * x, 1.0, observed=rng.normal(size=50))


@model
def multivariate_normal(rng: np.random.Generator) -> None:
    chol, _, _ = pm.LKJCholeskyCov("chol", n=3, eta=2.0, sd_dist=pm.HalfNormal.dist(2.0))
    pm.MvNormal("y", pm.Normal("mu", 0, 3, shape=3), chol=chol, observed=rng.normal(size=(20, 3)))


@model
def garch(rng: np.random.Generator) -> None:
    r = rng.normal(size=40)
    mu, a0 = pm.Normal("mu"), pm.HalfNormal("a0")
    a1, b1 = pm.Uniform("a1", 0, 1), pm.Uniform("b1", 0, 0.9)

    def step(r_before: Any, s2: Any, mu: Any, a0: Any, a1: Any, b1: Any) -> Any:
        return a0 + a1 * (r_before - mu) ** 2 + b1 * s2

    s2, _ = pytensor.scan(
        step,
        sequences=pt.as_tensor(r[:-1]),
        outputs_info=pt.as_tensor(np.float64(1.0)),
        non_sequences=[mu, a0, a1, b1],
    )
    pm.Normal("y", mu, pm.math.sqrt(s2), observed=r[1:])


@model
def arma(rng: np.random.Generator) -> None:
    y = rng.normal(size=30)
    mu, phi, theta = pm.Normal("mu"), pm.Normal("phi", 0, 0.5), pm.Normal("theta", 0, 0.5)

    def step(y1: Any, y0: Any, error: Any, mu: Any, phi: Any, theta: Any) -> Any:
        return y1 - (mu + phi * y0 + theta * error)

    errors, _ = pytensor.scan(
        step,
        sequences={"input": pt.as_tensor(y), "taps": [0, -1]},
        outputs_info=mu * 0.0,
        non_sequences=[mu, phi, theta],
    )
    pm.Potential("errors", pt.sum(pm.logp(pm.Normal.dist(0, pm.HalfNormal("s")), errors)))


@model
def second_differences(rng: np.random.Generator) -> None:
    a = pm.Normal("a", 0, 0.5, shape=2)

    def step(before: Any, last: Any, a: Any) -> Any:
        return a[0] * last + a[1] * before

    states, _ = pytensor.scan(
        step,
        outputs_info={"initial": pt.as_tensor([1.0, 0.5]), "taps": [-2, -1]},
        non_sequences=[a],
        n_steps=10,
    )
    pm.Normal("y", states, 1.0, observed=rng.normal(size=10))


@model
def gaussian_process(rng: np.random.Generator) -> None:
    x = np.linspace(0, 10, 15)[:, None]
    cov = pm.HalfNormal("eta") ** 2 * pm.gp.cov.ExpQuad(1, ls=pm.InverseGamma("ls", 3, 3))
    gp = pm.gp.Marginal(cov_func=cov)
    gp.marginal_likelihood("y", X=x, y=rng.normal(size=15), sigma=pm.HalfNormal("sigma"))


@model
def latent_process(rng: np.random.Generator) -> None:
    x = np.linspace(0, 5, 8)[:, None]
    f = pm.gp.Latent(cov_func=pm.gp.cov.Matern52(1, ls=pm.Gamma("ls", 3, 1))).prior("f", X=x)
    pm.Poisson("y", pm.math.exp(f), observed=rng.poisson(1.0, 8))


@model
def hilbert_space_process(rng: np.random.Generator) -> None:
    x = np.linspace(-1, 1, 20)[:, None]
    gp = pm.gp.HSGP(m=[6], c=1.5, cov_func=pm.gp.cov.ExpQuad(1, ls=pm.InverseGamma("ls", 3, 1)))
    pm.Normal("y", gp.prior("f", X=x), 0.5, observed=rng.normal(size=20))


@model
def mixture_of_normals(rng: np.random.Generator) -> None:
    w = pm.Dirichlet("w", np.ones(2))
    mu = pm.Normal("mu", [-1.0, 1.0], 2, shape=2, transform=pm.distributions.transforms.ordered)
    pm.NormalMixture("y", w, mu, pm.HalfNormal("s", shape=2), observed=rng.normal(size=40))


@model
def stochastic_volatility(rng: np.random.Generator) -> None:
    h = pm.GaussianRandomWalk(
        "h", mu=0, sigma=pm.Exponential("step", 10), init_dist=pm.Normal.dist(0, 1), shape=30
    )
    pm.StudentT("y", pm.Exponential("nu", 0.1) + 2, 0, lam=pm.math.exp(-2 * h), observed=rng.normal(size=30))


@model
def autoregression(rng: np.random.Generator) -> None:
    pm.AR("y", pm.Normal("rho", 0, 0.5, shape=3), sigma=pm.HalfNormal("s"), init_dist=pm.Normal.dist(0, 1),
          constant=True, observed=rng.normal(size=25))  # fmt: skip


@model
def horseshoe(rng: np.random.Generator) -> None:
    x = rng.normal(size=(20, 30))
    tau, lam = pm.HalfStudentT("tau", 2, 0.1), pm.HalfStudentT("lam", 5, shape=30)
    c2 = pm.InverseGamma("c2", 1, 1)
    b = pm.Normal("z", shape=30) * tau * lam * pt.sqrt(c2 / (c2 + tau**2 * lam**2))
    pm.Normal("y", pt.dot(x, b), 1.0, observed=rng.normal(size=20))


@model
def best(rng: np.random.Generator) -> None:
    nu = pm.Exponential("nu_minus_one", 1 / 29.0) + 1
    for k in range(2):
        mu, s = pm.Normal(f"mu{k}", 0, 2), pm.Uniform(f"s{k}", 0.1, 10)
        pm.StudentT(f"y{k}", nu, mu, lam=s**-2, observed=rng.normal(size=12))


@model
def ordered_logistic(rng: np.random.Generator) -> None:
    cuts = pm.Normal("cuts", [-1.0, 0, 1], 2, transform=pm.distributions.transforms.ordered, shape=3)
    pm.OrderedLogistic("y", pm.Normal("b") * rng.normal(size=30), cuts, observed=rng.integers(0, 4, 30))


@model
def zero_inflated(rng: np.random.Generator) -> None:
    pm.ZeroInflatedNegativeBinomial(
        "y",
        pm.Beta("psi", 2, 2),
        pm.Exponential("mu", 0.2),
        pm.Gamma("alpha", 2, 1),
        observed=rng.poisson(1.0, 30),
    )


@model
def censored_weibull(rng: np.random.Generator) -> None:
    times = rng.weibull(1.5, 30)
    weibull = pm.Weibull.dist(pm.HalfNormal("alpha", 2), pm.HalfNormal("beta", 2))
    pm.Censored("y", weibull, lower=None, upper=1.0, observed=np.minimum(times, 1.0))


@model
def truncated_and_circular(rng: np.random.Generator) -> None:
    pm.TruncatedNormal(
        "t", pm.Normal("mu", 0.5), pm.HalfNormal("s"), lower=0.0, observed=rng.uniform(0.1, 2, 10)
    )
    pm.VonMises("v", pm.Normal("m"), pm.HalfNormal("k", 2), observed=rng.uniform(-3, 3, 10))
    pm.SkewNormal("w", pm.Normal("c"), 1.0, pm.Normal("alpha"), observed=rng.normal(size=10))


@model
def missing_values(rng: np.random.Generator) -> None:
    y = rng.normal(size=12)
    y[[2, 5]] = np.nan
    pm.Normal("y", pm.Normal("mu"), pm.HalfNormal("s"), observed=np.ma.masked_invalid(y))


@model
def zero_sum(rng: np.random.Generator) -> None:
    a = pm.ZeroSumNormal("a", 1.5, shape=6)
    pm.Normal("y", a[rng.integers(0, 6, 30)], 1.0, observed=rng.normal(size=30))


@model
def softmax_regression(rng: np.random.Generator) -> None:
    x = rng.normal(size=(30, 2))
    logits = pt.dot(x, pm.Normal("b", shape=(2, 3)))
    pm.Categorical("y", p=pm.math.softmax(logits, axis=-1), observed=rng.integers(0, 3, 30))


@model
def beta_binomial(rng: np.random.Generator) -> None:
    pm.BetaBinomial("y", pm.HalfNormal("a", 3), pm.HalfNormal("b", 3), n=10, observed=rng.integers(0, 11, 20))


@model
def multinomial(rng: np.random.Generator) -> None:
    pm.Multinomial(
        "y", n=12, p=pm.Dirichlet("p", np.ones(4)), observed=rng.multinomial(12, np.ones(4) / 4, size=5)
    )


@model
def negative_binomial(rng: np.random.Generator) -> None:
    x = rng.normal(size=25)
    mu = pm.math.exp(pm.Normal("a") + pm.Normal("b") * x)
    pm.NegativeBinomial("y", mu=mu, alpha=pm.Exponential("alpha", 0.5), observed=rng.poisson(2.0, 25))


@model
def spatial(rng: np.random.Generator) -> None:
    w = np.zeros((6, 6))
    for k in range(5):
        w[k, k + 1] = w[k + 1, k] = 1
    phi = pm.ICAR("phi", W=w)
    rho = pm.Beta("rho", 0.5, 0.5)
    mixed = pm.HalfNormal("s") * (pt.sqrt(rho) * phi + pt.sqrt(1 - rho) * pm.Normal("theta", shape=6))
    pm.Poisson("y", pm.math.exp(pm.Normal("b") + mixed), observed=rng.poisson(2.0, 6))


@model
def growth_with_events(rng: np.random.Generator) -> None:
    t, changes = np.linspace(0, 1, 30), np.linspace(0.2, 0.8, 4)
    steps = (t[:, None] > changes) * 1.0
    k, m, delta = pm.Normal("k"), pm.Normal("m"), pm.Laplace("delta", 0, 0.1, shape=4)
    trend = (k + pt.dot(steps, delta)) * t + (m + pt.dot(steps, -changes * delta))
    pm.Normal("y", trend, pm.HalfNormal("s"), observed=rng.normal(size=30))


@model
def predator_and_prey(rng: np.random.Generator) -> None:
    theta = pm.LogNormal("theta", np.log([0.55, 0.028, 0.84, 0.026]), 0.3, shape=4)
    start = pm.LogNormal("start", np.log(10.0), 1, shape=2)

    def slope(z: Any, theta: Any) -> Any:
        return pt.stack([(theta[0] - theta[1] * z[1]) * z[0], (-theta[2] + theta[3] * z[0]) * z[1]])

    def step(z: Any, theta: Any) -> Any:
        h = 0.1
        k1 = slope(z, theta)
        k2 = slope(z + 0.5 * h * k1, theta)
        k3 = slope(z + 0.5 * h * k2, theta)
        k4 = slope(z + h * k3, theta)
        return z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    z, _ = pytensor.scan(step, outputs_info=start, non_sequences=[theta], n_steps=20)
    pm.LogNormal("y", pt.log(z[4::5]), 0.3, observed=np.exp(rng.normal(2.0, 0.3, (4, 2))))


@model
def hidden_markov(rng: np.random.Generator) -> None:
    y = rng.normal(size=20)
    p = pm.Beta("p", 2, 2, shape=2)
    mu = pm.Normal("mu", [-1.0, 1.0], 1, shape=2)
    transition = pt.log(pt.stack([pt.stack([p[0], 1 - p[0]]), pt.stack([1 - p[1], p[1]])]))
    density = pm.logp(pm.Normal.dist(mu, 1.0), y[:, None])

    def step(d: Any, alpha: Any, transition: Any) -> Any:
        return pt.logsumexp(alpha[:, None] + transition, axis=0) + d

    alpha, _ = pytensor.scan(
        step, sequences=density[1:], outputs_info=density[0] - np.log(2.0), non_sequences=[transition]
    )
    pm.Potential("hmm", pt.logsumexp(alpha[-1]))


@model
def kronecker_process(rng: np.random.Generator) -> None:
    covs = [pm.gp.cov.ExpQuad(1, ls=pm.InverseGamma(f"ls{k}", 3, 3)) for k in range(2)]
    xs = [np.linspace(0, 3, 4)[:, None], np.linspace(0, 2, 3)[:, None]]
    gp = pm.gp.MarginalKron(cov_funcs=covs)
    gp.marginal_likelihood("y", Xs=xs, y=rng.normal(size=12), sigma=pm.HalfNormal("sigma"))


@model
def reused_data(rng: np.random.Generator) -> None:
    x, y = pm.Data("x", rng.normal(size=15)), pm.Data("obs", rng.normal(size=15))
    pm.Normal("y", pm.Normal("a") + pm.Normal("b") * x, pm.HalfNormal("s"), observed=y, shape=x.shape)


@model
def several_transforms(rng: np.random.Generator) -> None:
    p = pm.Beta("p", 2, 3, shape=3)
    u = pm.Uniform("u", -1.0, 2.0)
    w = pm.Kumaraswamy("w", 2.0, 3.0)
    g = pm.Gamma("g", mu=2.0, sigma=1.0)
    pm.Wald("wald", mu=g, lam=1.0, observed=rng.uniform(0.5, 2, 5))
    pm.Binomial("y", n=9, p=p * w, observed=np.array([2, 5, 7]))
    pm.AsymmetricLaplace("a", kappa=1.5, mu=u, b=1.0, observed=rng.normal(size=4))
    pm.Pareto("pareto", g + 0.5, 0.2, observed=rng.uniform(0.5, 2, 5))


@model
def interpolated(rng: np.random.Generator) -> None:
    x = np.linspace(-2.0, 3.0, 40)
    z = pm.Interpolated("z", x, np.exp(-(x**2) / 2) + 0.1)
    pm.Normal("y", z, 1.0, observed=rng.normal(size=5))


@model
def correlations(rng: np.random.Generator) -> None:
    r = pm.LKJCorr("r", n=3, eta=2.0)
    pm.Normal("y", pt.sum(r), 1.0, observed=rng.normal(size=5))


@model
def named_axes(rng: np.random.Generator) -> None:
    dims = importlib.import_module("pymc.dims")
    model = pm.modelcontext(None)
    model.add_coords({"school": list("abcde"), "feature": ["u", "v"]})
    x = dims.Data("x", rng.normal(size=(5, 2)), dims=("school", "feature"))
    mu, tau = dims.Normal("mu", 0, 5), dims.HalfCauchy("tau", 5)
    effect = (
        mu + tau * dims.Normal("raw", 0, 1, dims="school") + x.dot(dims.Normal("b", 0, 1, dims="feature"))
    )
    theta = dims.Deterministic("theta", effect, dims="school")
    y = dims.as_xtensor(rng.normal(size=5), dims=("school",))
    dims.Normal("y", theta, dims.HalfNormal("s", 1, dims="school"), observed=y)


@model
def mathematics(rng: np.random.Generator) -> None:
    a, q = pm.Normal("a", shape=3), pm.Gamma("q", 2, 1, shape=6)
    lower = pm.math.expand_packed_triangular(3, q)
    blocks = pt.linalg.block_diag(lower @ lower.T, pt.eye(2) * pt.exp(a[0]))
    diagonals = pm.math.batched_diag(pt.stack([a, a * 2]))
    terms = [
        pm.math.logdet(blocks), pm.math.logsumexp(a), pm.math.kronecker(lower, lower), pm.math.invlogit(a),
        pm.math.invprobit(a), diagonals**2, pm.math.logdiffexp(pt.abs(a) + 1, a - 3),
        pm.math.kron_dot([lower, lower], pt.concatenate([q, a])), pm.math.log1mexp(-pt.exp(a)),
    ]  # fmt: skip
    pm.Potential("p", sum(pt.sum(term) for term in terms))


@model
def hypergeometric(rng: np.random.Generator) -> None:
    """Customers who may have left, as in the Pareto/NBD model. PyTensor has no gradient where z is below -1."""
    r, alpha = pm.Gamma("r", 2, 2), pm.Gamma("alpha", 3, 1)
    s, recency, age = pm.Gamma("s", 2, 2), rng.uniform(6.0, 9.0, 12), np.full(12, 10.0)
    count = rng.integers(0, 5, 12)
    x = pt.hyp2f1(r + s + count, s + 1.0, r + s + count + 1.0, (recency - age) / (alpha + recency))
    pm.Potential("left", pt.sum(pt.log(x) - (r + s + count) * pt.log(alpha + recency)))

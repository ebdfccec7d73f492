"""Certificates of patterns: wrong ones raise wherever a derivative is compressed, and right ones never do."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import tapegrad as tg
from tapegrad.autodiff.sparsity import compressed
from tapegrad.autodiff.sparsity.certificate import ReferenceDerivative, find_disagreement
from tapegrad.autodiff.sparsity.compressed import CompressedDerivative
from tapegrad.autodiff.sparsity.plan import plan_of
from tapegrad.autodiff.sparsity.rules import RULES
from tapegrad.autodiff.sparsity.sets import EMPTY
from tapegrad.program.streams.spec import ProgramSpec
from tapegrad.transforms.jacobians.sparse import lower_hessian

N = 20
X = np.linspace(0.5, 1.5, N)
LIST = np.roll(np.arange(N), 1)


def taken(x):
    return x[LIST] * x**2


def scalar(x):
    return tg.sum(taken(x))


@tg.custom_root(lambda y, x: y + 0.1 * taken(y) - x)
def solution(guess, x):
    return scipy.optimize.fsolve(lambda y: y + 0.1 * taken(y) - x, guess)


@pytest.fixture
def blind(monkeypatch):
    """Let the rules of `gather` and its transpose say that nothing depends on anything."""
    for rule in ("taken_rows", "added_rows"):
        monkeypatch.setitem(RULES, rule, lambda of: np.full(of.shape, EMPTY))


def sparse_ones():
    """Yield names of sparse derivatives, and functions that compute them."""
    jacobian, hessian = tg.jacobian(taken, sparse=True), tg.hessian(scalar, sparse=True)
    yield "Jacobian", lambda: jacobian(X)
    yield "its pattern", lambda: jacobian.pattern(X)
    yield "by reverse sweeps", lambda: tg.jacobian(taken, sparse=True, mode="reverse")(X)
    yield "Hessian", lambda: hessian(X)
    yield "its lower triangle", lambda: lower_hessian(scalar, 0)(X)
    yield "in a gradient", lambda: tg.grad(lambda x: tg.sum(jacobian.values(x)))(X)
    yield "in a replay", lambda: tg.jit(lambda x: hessian.values(x * 1.0))(X)
    yield "mapped", lambda: tg.vmap(jacobian.values)(np.stack([X, X]))
    yield "compiled", lambda: tg.compile(jacobian.values, (X,))
    yield "of an equation", lambda: tg.grad(lambda x: tg.sum(solution(X, x)))(X)


def dense_ones():
    """Yield the same of dense derivatives whose columns share tangents."""
    yield "Jacobian", lambda: tg.jacobian(taken)(X)
    yield "of a replay", lambda: tg.jacobian(tg.jit(taken))(X)
    yield "with another result", lambda: tg.jacobian(tg.jit(lambda x: (taken(x), x)), has_aux=True)(X)
    yield "Hessian", lambda: tg.hessian(scalar)(X)
    yield "of several arguments", lambda: tg.jacobian(tg.jit(lambda x, y: taken(x) * y), (0, 1))(X, X)
    yield "mapped", lambda: tg.vmap(tg.jacobian(tg.jit(taken)))(np.stack([X, X]))
    yield "compiled", lambda: tg.compile(tg.jacobian(taken), (X,))


def raised(compute):
    """Return the certificate's error, empty if there was none."""
    try:
        compute()
    except tg.CertificateError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("derivatives", [sparse_ones, dense_ones])
def test_a_wrong_pattern_raises_wherever_a_derivative_is_compressed(blind, derivatives):
    texts = {name: raised(compute) for name, compute in derivatives()}
    assert not [name for name, text in texts.items() if "in row" not in text or "tg.jacrev" not in text]


@pytest.mark.parametrize("derivatives", [sparse_ones, dense_ones])
def test_right_patterns_raise_nowhere(derivatives):
    assert not [name for name, compute in derivatives() if raised(compute)]


def test_the_message_names_function_place_and_both_numbers(blind):
    numbers = r"in row 0 and column 19 is 0\.0 by sweeps .*, but 0\.25 by a sweep of its own"
    with pytest.raises(tg.CertificateError, match=f"jacobian of taken: the element {numbers}"):
        tg.jacobian(taken, sparse=True)(X)


def test_entries_that_are_zero_are_seen_to_be_missing(blind):
    """At zero nothing of the derivative is left to compare."""
    with pytest.raises(tg.CertificateError, match="is no zero at other arguments"):
        tg.jacobian(taken, sparse=True)(np.zeros(N))
    with pytest.raises(tg.CertificateError, match="is no zero at other arguments"):
        tg.hessian(scalar, sparse=True)(np.zeros(N))


def test_a_wrong_plan_raises(monkeypatch):
    def shifted(*args):
        plan = plan_of(*args)
        return plan._replace(sources=np.roll(plan.sources, 1))

    monkeypatch.setattr(compressed, "plan_of", shifted)
    assert "in row 0 and column 0 is" in raised(lambda: tg.jacobian(taken, sparse=True)(X))


def test_each_branch_has_its_certificate(blind):
    jacobian = tg.jacobian(lambda x: taken(x) if x[0] > 1 else x**2, sparse=True)
    jacobian(X)
    with pytest.raises(tg.CertificateError):
        jacobian(X + 1)


def test_recordings_do_not_become_longer(monkeypatch):
    lengths = []
    for certifies in (True, False):
        if not certifies:
            monkeypatch.setattr(CompressedDerivative, "_certify", lambda *args: None)
        recorded = tg.hessian(lambda x: scalar(x) + tg.sum(np.sort(x) ** 3), sparse=True).values.recorded
        recorded(X)
        lengths.append(len(recorded.run(recorded.arguments((X,), {}), ProgramSpec())[0].recording))
    assert lengths[0] == lengths[1]


# --- what is no fault --------------------------------------------------------------------------------------------


_clipped = tg.custom_op(
    "clipped",
    lambda x: x * 1,
    lambda y_bar, y, x: np.minimum(y_bar, 0.1),
    lambda x_dots, y, x: x_dots[0] * 1,
    differentiable=True,
)
_doubled = tg.custom_op("doubled", lambda x: x * 2, lambda y_bar, y, x: 2 * y_bar, differentiable=True)
HARMLESS = {
    "kinks": lambda x: abs(x - 1) * tg.maximum(x[::-1], x) + tg.sort(x),
    "zeros beside roots": lambda x: tg.where(x > 1, tg.sqrt(x - 1), 0.0),
    "infinite partials": lambda x: tg.sqrt(x - 1) * x[::-1],
    "not a number": lambda x: tg.log(x - 1) * x[LIST],
    "single precision inside": lambda x: (x.astype(np.float32) ** 7).astype(float) * 1e7 - x[LIST],
    "single precision that cancels": lambda x: tg.sum((x.astype(np.float32) ** 2).astype(float) / 3 - x / 2),
    "single precision": lambda x: tg.exp(x.astype(np.float32)) * 2,
    "cancellation": lambda x: (1e9 + x) ** 2 - (1e9 + x[LIST]) ** 2 - 2e9 * (x - x[LIST]),
    "many sizes": lambda x: x ** (20 * X),
    "reverse sweeps alone": lambda x: _doubled(x) * x[LIST],
    "constants": lambda x: 3 * x - x[::-1],
}


@pytest.mark.parametrize("name", HARMLESS)
def test_rounding_and_special_values_are_no_faults(name):
    def total(x):
        return tg.sum(HARMLESS[name](x).astype(float) ** 2)

    at = np.array([1.0, *X[1:-1], 1.0])
    with np.errstate(all="ignore"):
        assert not raised(lambda: tg.jacobian(HARMLESS[name], sparse=True)(at))
        assert not raised(lambda: tg.jacobian(HARMLESS[name], sparse=True)(0 * at))
        assert not raised(lambda: tg.hessian(total, sparse=True)(at))
        assert not raised(lambda: tg.hessian(total)(at))


def test_a_gradient_that_is_none_has_no_wrong_pattern():
    """Star colouring reads entries where their mirror images stand, which are other ones here."""
    pattern = scipy.sparse.diags_array([1.0, 1.0, 1.0], offsets=(-1, 0, 1), shape=(N, N)).tocsr()
    tg.hessian(lambda x: tg.sum(x[1:] * _clipped(x[:-1] ** 2)), sparse=True, pattern=pattern)(X)


def test_disagreements_are_told_from_rounding(rng):
    matrix = scipy.sparse.random_array((30, 40), density=0.1, rng=rng).tocsr()
    noise = 1 + 1e-13 * rng.normal(size=30)
    derivative = ReferenceDerivative(lambda v: noise * (matrix @ v), lambda v: 1.0, 2.0**-52)
    assert find_disagreement(matrix, derivative) is None
    wrong = matrix.tolil()
    wrong[7, 11] += 1e-5
    found = find_disagreement(wrong.tocsr(), derivative)
    assert found[:2] == (7, 11)
    assert found.entry - found.number == pytest.approx(1e-5)


def test_a_given_pattern_is_checked_inside_of_other_transforms():
    jacobian = tg.jacobian(taken, sparse=True, pattern=scipy.sparse.eye_array(N).tocsr())
    with pytest.raises(ValueError, match=r"pattern= lacks entries: .* in row 0 and column 19 is 0"):
        tg.jit(lambda x: jacobian.values(x * 1.0))(X)

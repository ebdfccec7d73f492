"""Certificates: what is right passes, each check fails for a fault of its own, and what cannot be told is said."""

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.engine.inspection.verify.switch import switch
from tapegrad.program.certificates import checks, products
from tapegrad.program.passes import cotangent_flow
from tapegrad.program.streams.spec import COLUMNS, VALUE_AND_GRAD, ProgramSpec
from tapegrad.transforms.vmap import lane_call

X = np.linspace(0.5, 1.5, 6)


def _loss(x):
    part = np.copy(x[1:5])
    part[1:3] *= x[0]
    return np.sum(np.sin(x) * x[::-1]) + np.sum(part**2) + np.max(x)


def _names(certificate):
    return [check.name for check in certificate]


@pytest.mark.parametrize("fuse", [False, True])
def test_derivatives_of_all_kinds_are_certified(fuse):
    """The kinds, and the checks of each; segments are held against their instructions one by one."""
    f = tg.jit(_loss, fuse=fuse)
    g = tg.jit(lambda x: np.outer(np.sin(x[:3]), x[3:]), fuse=fuse)
    tiers = ["tiers"] * fuse
    every = ["twice", *tiers, "values", "adjoint"]
    assert _names(f.certificate(X)) == ["twice", *tiers, "values", *every, *every]
    for transform in (tg.grad(f), tg.value_and_grad(f), tg.jacobian(g)):
        assert _names(transform.certificate(X)) == every
    assert tg.jacobian(g, mode="forward").certificate(X)[0].of == "jacfwd"
    assert _names(tg.hessian(f).certificate(X))[-1] == "adjoint"


def test_executions_are_compared_twice_and_made_once(monkeypatch):
    """The plain program runs for the values, which the adjoint identity takes too, and along an even direction."""
    executed = []
    real = products.PlainPrograms.pushed
    monkeypatch.setattr(
        products.PlainPrograms, "pushed", lambda self, point: executed.append(1) or real(self, point)
    )
    monkeypatch.setattr(switch, "derivatives", False)  # or the program is certified before it is asked to be
    tg.grad(tg.jit(_loss)).certificate(X)
    assert len(executed) == 2


def test_what_is_certified_is_counted(monkeypatch):
    """By default nothing is; `certify` and the switch do so once for each program, and replays do not."""
    certified = []
    real = checks.checks_of

    def counting(subject):
        certified.append(subject.kind)
        return real(subject)

    monkeypatch.setattr("tapegrad.program.certificates.certificate.checks_of", counting)
    monkeypatch.setattr(switch, "derivatives", False)
    tg.grad(tg.jit(_loss))(X)
    assert certified == []
    f = tg.jit(_loss, certify=True)
    for _ in range(3):
        tg.grad(f)(X)
    assert certified == ["value_and_grad"]
    monkeypatch.setattr(switch, "derivatives", True)
    tg.grad(tg.jit(_loss))(X)
    assert certified == ["value_and_grad"] * 2
    _, pull = tg.vjp(tg.jit(_loss), X)
    pull(1.0)
    tg.jvp(tg.jit(_loss), (X,), (X,))
    tg.jit(_loss)(X)
    assert certified[2:] == ["vjp", "jvp", "forward"]
    tg.grad(tg.jit(_loss, certify=False))(X)
    assert len(certified) == 5


def test_complex_numbers_single_precision_and_many_arguments_hold():
    def f(z, x, n, table):
        y = np.exp(0.1 * z) * x[:3].astype(np.complex64)
        return np.sum(np.abs(y) ** 2) * n + np.sum(table["a"] * y.imag)

    z, x = X[:3] + 1j * X[3:], X.astype(np.float32)
    jitted = tg.jit(f)
    for argnums in (0, 1, 3, (0, 3)):
        found = tg.grad(jitted, argnums=argnums).certificate(z, x, 3, {"a": X[:3]})
        assert found[-1].name == "adjoint"
        assert 0 < found[-1].bound < 1e-3
    assert _names(jitted.certificate(z, x, 3, {"a": X[:3]})).count("adjoint") == 2


def test_rolled_loops_are_held_against_the_unrolled_recording():
    def f(x):
        for k in range(8):
            x = np.sin(x) + 0.1 * x[0] * k
        return np.sum(x)

    jitted = tg.jit(f, roll=True)
    assert len(jitted.tape(X)) <= 8
    assert _names(tg.grad(jitted).certificate(X)) == ["twice", "values", "adjoint"]


# --- faults ------------------------------------------------------------------------------------------------------

_wrong = tg.custom_op(
    "wrong", lambda x: x**3, lambda y_bar, y, x: 2 * x**2 * y_bar, lambda d, y, x: 3 * x**2 * d[0]
)


def test_a_wrong_derivative_names_instruction_line_and_mode():
    def f(x):
        y = np.sin(x)
        y = _wrong(y)  # the line that is named
        return np.sum(y * y)

    with pytest.raises(tg.CertificateError) as caught:
        tg.grad(tg.jit(f, certify=True))(X)
    message = str(caught.value)
    for part in (
        "value_and_grad fails the check 'adjoint'",
        "the vjp and the jvp of a custom op disagree, recorded at",
        "# the line that is named",
    ):
        assert part in message
    with pytest.raises(tg.CertificateError, match="jvp fails the check 'adjoint'"):
        tg.jvp(tg.jit(f, certify=True), (X,), (X,))


def test_an_element_that_the_others_outweigh_is_seen():
    """One of the elements has a wrong share of a billionth: an even direction shows it."""
    scale = np.array([1.0, 1e-9, 1.0])
    part = tg.custom_op(
        "part", lambda x: x * scale, lambda bar, y, x: bar * scale * [1, 2, 1], lambda d, y, x: d[0] * scale
    )
    with pytest.raises(tg.CertificateError, match="adjoint"):
        tg.grad(tg.jit(lambda x: np.sum(part(x)))).certificate(X[:3])


def test_memory_that_is_not_written_is_seen(monkeypatch):
    """Cotangents that nothing reaches are not cleared: two executions differ."""
    init = cotangent_flow.CotangentFlow.__init__

    def uncleared(self, *args):
        init(self, *args)
        self.untouched = self.untouched[:0]

    monkeypatch.setattr(cotangent_flow.CotangentFlow, "__init__", uncleared)
    with pytest.raises(tg.CertificateError, match=r"'twice', two executions.*differ by inf"):
        tg.grad(tg.jit(lambda x, y: np.sum(x)), argnums=(0, 1)).certificate(X, X)


def test_other_bits_of_segments_and_of_passes_are_seen(monkeypatch):
    """Another program in the place of the reference shows that both comparisons look at all bits."""
    other = tg.jit(lambda x: np.sum(np.sin(x) * (2 + 2**-20)), fuse=True)
    tg.grad(other)(X)
    (rows,) = [
        program for ref in other.tape(X).programs.values() if (program := ref()).spec.kind == VALUE_AND_GRAD
    ]
    f = tg.grad(tg.jit(lambda x: np.sum(np.sin(x) * 2), fuse=True))
    assert "tiers" in _names(f.certificate(X))
    with monkeypatch.context() as patch:
        patch.setattr(checks, "make_program", lambda *_: rows)
        with pytest.raises(tg.CertificateError, match="'tiers', segments"):
            f.certificate(X)
    plain = products.PlainPrograms(other.tape(X), (0,))
    pushed = products.PlainPrograms.pushed
    monkeypatch.setattr(products.PlainPrograms, "pushed", lambda self, point: pushed(plain, point))
    with pytest.raises(tg.CertificateError, match="'values', the results"):
        f.certificate(X)


def test_lanes_are_held_against_an_instance_by_itself(monkeypatch):
    f = tg.jit(lambda x: np.sum(np.sin(x)), certify=True)
    batch = np.stack([X, 2 * X, 3 * X])
    tg.vmap(tg.grad(f))(batch)
    computed = lane_call.LaneCall._computed
    monkeypatch.setattr(lane_call.LaneCall, "_computed", lambda self, number, *rest: computed(self, 0, *rest))
    g = tg.jit(lambda x: np.sum(np.cos(x)), certify=True)
    with pytest.raises(tg.CertificateError, match="result 0 of instance 2 differs between lanes"):
        tg.vmap(tg.grad(g))(batch)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_errors_over_lanes_are_no_fault(dtype):
    """The cosine of a large sum in float32 has few digits, which the order of the sum changes."""
    batch = np.random.default_rng(0).uniform(0.0, 2.0, (9, 64)).astype(dtype)
    f = tg.jit(lambda x: np.sin(np.sum(np.exp(x.astype(np.float32)))), certify=True)
    found = tg.vmap(tg.jacobian(f, mode="forward"))(batch)
    exact = np.exp(batch.astype(float))
    assert np.allclose(found, np.cos(exact.sum(1, keepdims=True)) * exact, rtol=0, atol=3e-3)


def test_a_fused_program_is_certified_when_it_is_made():
    """A program that is fused in the background goes on row by row where the fused one is wrong."""
    trace_of = tg.jit(_loss, certify=True)
    tg.grad(trace_of)(X)
    ((_, trace),) = trace_of.traces.owned()
    ((spec, certified),) = trace.certified.items()
    certified.latest = None
    trace._made(spec, "now")
    assert _names(certified.latest) == ["twice", "tiers", "values", "adjoint"]


def test_explanations_have_the_figures():
    f = tg.grad(tg.jit(_loss, certify=True, fuse=False))
    section = f.explain(X).section("certificate")
    assert section.summary == "3 checks passed"
    assert "adjoint: relative difference" in section.lines[-1]
    assert f.explain(X).section("certificate").lines == section.lines
    f = tg.jit(_loss, certify=False, fuse=False)
    assert "none" in f.explain(X).section("certificate").summary
    f.certificate(X)
    assert f.explain(X).section("certificate").summary == "2 checks passed"


# --- what cannot be told ------------------------------------------------------------------------------------------


def _note(f, *args):
    return tg.grad(f).certificate(*args)[-1].note


def test_what_cannot_be_told_is_said():
    kinked = tg.custom_op(
        "kinked",
        np.abs,
        lambda bar, y, x: bar * np.where(x < 0, -1, 1),
        lambda d, y, x: d[0] * np.where(x > 0, 1, -1),
    )
    assert _note(tg.jit(lambda x: np.sum(kinked(x))), np.zeros(3)).startswith("a kink")
    assert "not finite" in _note(tg.jit(lambda x: np.sum(np.sqrt(x))), np.zeros(3))
    without = tg.custom_op("no forward mode", lambda x: x * 2, lambda bar, y, x: 2 * bar)
    assert "no jvp" in _note(tg.jit(lambda x: np.sum(without(x))), X)

    def chaotic(x):
        for _ in range(200):
            x = 3.99 * x * (1 - x)
        return np.sum(x)

    assert tg.grad(tg.jit(chaotic)).certificate(X / 2)[-1].holds


def test_columns_left_in_a_workspace_are_not_compared():
    class Subject:
        program = type("P", (), {"spec": ProgramSpec(COLUMNS)})
        kind = COLUMNS

    assert list(checks.checks_of(Subject())) == []


def test_a_function_that_raises_in_a_replay_raises_that():
    calls = []

    def forward(x):
        calls.append(1)
        if len(calls) > 3:
            raise ValueError("exhausted")
        return x * 1.0

    op = tg.custom_op("exhausted", forward, lambda bar, y, x: bar, lambda d, y, x: d[0])
    f = tg.jit(lambda x: np.sum(op(x)))
    with pytest.raises(ValueError, match="exhausted"):
        tg.grad(f).certificate(X)

"""The benchmarks give right answers, reject wrong ones and can be read. Nothing here is about speed."""

import json

import numpy as np
import pytest

import tapegrad as tg
from perf import small, workloads
from perf.__main__ import figures_named
from perf.figures import FIGURES, Figure, Outcome, Settings, Target, distributions, function_table, lanes
from perf.figures import functions as function_figures
from perf.figures import small as small_figures
from perf.figures.compiled import contenders as compiled_contenders
from perf.figures.derivatives import DERIVATIVES
from perf.figures.fits import _pass, _sample, _scaled
from perf.figures.races import RACES, Race
from perf.figures.replay import LENGTHS, slope
from perf.figures.small import SmallRace
from perf.function_calls import CALLS, OPERATORS, calls, functions
from perf.nist_fits import Evaluation, Fits, run_fits
from perf.peers import FUNCTIONS, GRADIENTS, HESSIANS, JACOBIANS, PRODUCTS, RESIDUALS, Unavailable, enter
from perf.progress import progress
from perf.regression import gauss1, residuals
from perf.report import Report, figure_text, quantity
from perf.second_order import direction, rosenbrock_hessian, rosenbrock_product
from tapegrad.examples.nist import load
from tapegrad.testing.timer import Budget, Contender, Timing, WrongAnswer, check, race

CASES = [
    *((workload, size) for workload in workloads.WORKLOADS.values() for size in (2, 10, 100)),
    *((workloads.arithmetic(length), width) for length in (1, 2, 3, 10, 30) for width in (1, 8)),
]
IDS = [f"{workload.name}-{size}" for workload, size in CASES]
BRIEF = Budget(batch=1e-5, contender=1e-4, rounds=(2, 3))
SQUARE = 4.0, np.array([4.0])


def timing(name, median):
    return Timing(name, median, 0.9 * median, 1.1 * median, 9, 100)


@pytest.mark.parametrize(("workload", "size"), CASES, ids=IDS)
def test_reference_is_the_derivative(workload, size):
    x = workload.build(size)
    value, gradient = workload.reference(x)
    assert value == pytest.approx(float(workload.function(np, x)), rel=1e-12)
    for i in range(min(size, 4)):
        step = np.zeros(size)
        step[i] = 1e-6
        difference = workload.function(np, x + step) - workload.function(np, x - step)
        assert gradient[i] == pytest.approx(difference / 2e-6, rel=1e-5, abs=1e-6)


def check_peer(peer, workload, x, reference):
    try:
        contender = peer.enter(workload, x)
    except Unavailable as reason:
        pytest.skip(f"{peer.name}: {reason}")
    contender.before()
    check(contender, reference(x))
    check(contender, reference(x))  # nothing is left over from the first call


@pytest.mark.parametrize("peer", GRADIENTS.values(), ids=GRADIENTS)
@pytest.mark.parametrize(("workload", "size"), CASES[:6], ids=IDS[:6])
def test_peer_gives_the_reference(workload, size, peer):
    check_peer(peer, workload, workload.build(size), workload.reference)


# torch.func compiles something by its own deprecated means when it is first called.
OF_TORCH = pytest.mark.filterwarnings("ignore::DeprecationWarning:torch", "ignore::FutureWarning:torch")
SECOND = [(peer, rosenbrock_product) for peer in PRODUCTS.values()]
SECOND += [(peer, rosenbrock_hessian) for peer in HESSIANS.values()]
SECOND_IDS = [f"{reference.__name__}-{peer.name}" for peer, reference in SECOND]


@OF_TORCH
@pytest.mark.parametrize(("peer", "reference"), SECOND, ids=SECOND_IDS)
def test_peer_gives_the_second_derivative(peer, reference):
    rosenbrock = workloads.WORKLOADS["rosenbrock"]
    check_peer(peer, rosenbrock, rosenbrock.build(12), reference)


@OF_TORCH
@pytest.mark.parametrize("peer", JACOBIANS.values(), ids=JACOBIANS)
def test_peer_gives_the_jacobian(peer):
    check_peer(peer, gauss1(), gauss1().build(8), gauss1().reference)


def test_residuals_are_those_of_the_problem():
    b = gauss1().build(8)
    check_peer(RESIDUALS["tapegrad replay"], gauss1(), b, residuals)
    np.testing.assert_array_equal(residuals(b)[0], load("Gauss1").residuals(b))


def test_second_derivatives_are_those_of_the_gradient():
    rosenbrock = workloads.WORKLOADS["rosenbrock"]
    x, step = rosenbrock.build(6), 1e-6 * np.eye(6)
    gradient = [[rosenbrock.reference(x + sign * row)[1] for row in step] for sign in (1, -1)]
    (hessian,) = rosenbrock_hessian(x)
    np.testing.assert_allclose(hessian, np.subtract(*gradient) / 2e-6, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(hessian @ direction(x), rosenbrock_product(x)[0], rtol=1e-12)


def test_jacobian_is_that_of_the_residuals():
    b = gauss1().build(8)
    (jacobian,) = gauss1().reference(b)
    for i in range(8):
        step = np.zeros(8)
        step[i] = 1e-6 * b[i]
        difference = (residuals(b + step)[0] - residuals(b - step)[0]) / (2 * step[i])
        np.testing.assert_allclose(jacobian[:, i], difference, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["tapegrad replay", "tapegrad eager"])
@pytest.mark.parametrize(("workload", "size"), CASES[6:], ids=IDS[6:])
def test_arithmetic_chain(workload, size, name):
    x = workload.build(size)
    check(GRADIENTS[name].enter(workload, x), workload.reference(x))


@pytest.mark.parametrize("peer", FUNCTIONS.values(), ids=FUNCTIONS)
def test_peer_gives_the_functions_of_a_fit(peer):
    names = ["Nelson", "Roszman1"]
    evaluations = [
        Evaluation(load(name), kind, np.array(load(name).starts[1])) for name in names for kind in (0, 1)
    ]
    kept, answers = _sample(evaluations, 1)
    assert len(kept) == 4
    scales = [np.max(np.abs(answer)) for answer in answers]
    try:
        check(_pass(peer, kept, scales), _scaled(answers, scales))
    except Unavailable as reason:
        pytest.skip(f"{peer.name}: {reason}")


def test_overflowing_points_are_left_out():
    problem = load("Misra1a")
    evaluations = [Evaluation(problem, 0, np.array([1.0, b])) for b in (1e-4, -1e4)]
    assert _sample(evaluations, 1)[0] == evaluations[:1]


def test_fits_are_timed_and_their_evaluations_listed():
    fits = run_fits(["DanWood"])
    residuals, jacobians = fits.calls
    assert residuals >= jacobians > 4
    assert fits.digits > 8
    assert 0 < sum(fits.seconds) < fits.total_seconds
    assert Fits().calls == (0, 0)


@pytest.mark.parametrize(
    "wrong", [(4.1, [4.0]), (4.0, [4.1]), (4.0, 4.0), (np.nan, [4.0]), (4.0, [np.nan])], ids=str
)
def test_timer_rejects_a_wrong_answer(wrong):
    calls = []
    contender = Contender("wrong", lambda: calls.append(0) or wrong)
    with pytest.raises(WrongAnswer, match="wrong"):
        race([contender], SQUARE, BRIEF)
    assert len(calls) == 1


def test_timer_takes_turns_and_keeps_the_order():
    order = []
    contenders = [
        Contender(name, lambda: SQUARE, before=lambda name=name: order.append(name))
        for name in ("a", "b", "c")
    ]
    timings = race(contenders, SQUARE, BRIEF)
    assert [timing.name for timing in timings] == ["a", "b", "c"]
    assert all(timing.low <= timing.median <= timing.high for timing in timings)
    assert sorted(order[-3:]) == sorted(order[-6:-3]) == ["a", "b", "c"]


def test_a_missing_peer_is_noted():
    workload = workloads.WORKLOADS["rosenbrock"]
    everyone = {peer.package for peer in GRADIENTS.values()}
    contenders, attachments = enter(GRADIENTS, workload, workload.build(5), without=everyone)
    assert contenders == []
    assert len(attachments) == len(GRADIENTS)


@pytest.mark.parametrize("name", lanes.CASES)
def test_instances_over_lanes_are_answered_right(name):
    function, _, size, *_ = lanes.CASES[name]
    x = lanes.inputs(5, size)
    racing, _ = lanes.contenders(function, x, Settings(without=frozenset({"jax"})))
    check(racing[0], lanes.reference(function, x))


def test_verdicts():
    assert Target("t", 1.0, 2.0, "s").verdict == "reached"
    assert Target("t", 3.0, 2.0, "s").verdict == "missed"
    assert Target("t", 3.0, 2.0, "x", at_least=True).verdict == "reached"
    assert Target("t", None, 2.0, "s").verdict == "not measured"


def test_a_race_is_judged_against_the_fastest_of_a_peer():
    judged = Race("ours", "rosenbrock", 10, within=3e-6, faster=(("torch", 4), ("absent", 2)))
    found = judged.targets([timing("ours", 2e-6), timing("torch two", 9e-6), timing("torch one", 6e-6)])
    assert [(target.measured, target.verdict) for target in found] == [
        (2e-6, "reached"),
        (pytest.approx(3), "missed"),
        (None, "not measured"),
    ]


def test_every_race_names_peers_that_exist():
    for figure in RACES:
        rivals = [figure.measure.subject, *(peer for peer, _ in figure.measure.faster)]
        assert all(any(name.startswith(rival) for name in GRADIENTS) for rival in rivals)


def test_every_comparison_names_peers_that_exist():
    for comparison in (figure.measure for figure in DERIVATIVES):
        names = [comparison.subject] if comparison.names is None else comparison.names
        assert set(names) <= set(comparison.peers)
        rivals = [rival for rival, _ in comparison.faster]
        assert all(any(name.startswith(rival) for name in comparison.peers) for rival in rivals)


def test_a_derivative_is_counted_in_its_unit():
    comparison = next(figure.measure for figure in DERIVATIVES if figure.name == "jacobian-gauss1")
    timings = [timing("tapegrad replay", 8e-6), timing("tapegrad replay, residuals", 2e-6)]
    found = comparison.targets([*timings, timing("JAX jit, NumPy in and out", 4e-6)])
    assert [(target.measured, target.verdict) for target in found] == [
        (pytest.approx(4), "reached"),
        (pytest.approx(0.5), "missed"),
        (None, "not measured"),
    ]


def test_slope_of_a_straight_line():
    each, fixed = slope([timing(f"{n} instructions on 8", 2e-6 + 20e-9 * n) for n in LENGTHS])
    assert each == pytest.approx(20e-9)
    assert fixed == pytest.approx(2e-6)


@pytest.mark.parametrize(
    "model",
    [distributions.mixture_model(20), distributions.regression_model(20), distributions.process_model(8)[0]],
)
def test_answers_for_likelihoods_are_right(model):
    check(Contender("tapegrad", distributions.LIBRARIES["tapegrad"][1](model)), model.answer)


def test_quantities_are_scaled():
    found = [quantity(value, "s") for value in (2.5, 0.0123, 3.21e-6, 28e-9, None)]
    assert found == ["2.5 s", "12.3 ms", "3.21 us", "28 ns", "-"]
    assert quantity(1234.5, "bytes") == "1,234 bytes"
    assert quantity(12.0, "x") == "12 x"


def test_report_renders():
    figure = next(iter(FIGURES.values()))
    outcome = Outcome([Target("one call", 2e-6, 3e-6, "s")], [timing("ours", 2e-6)], ["a remark"])
    machine = {
        "processor": "P",
        "cores": 2,
        "system": "S",
        "python": "3",
        "load": 0,
        "measured": "now",
        "versions": {},
    }
    failed = Figure("failed", "A figure that failed", lambda settings: outcome)
    report = Report(machine, [(figure, outcome)], [(failed, "for a reason")])
    for text in (report.text(), report.markdown()):
        for part in (
            figure.title,
            "one call",
            "2 us",
            "<= 3 us",
            "reached",
            "ours",
            "a remark",
            "for a reason",
        ):
            assert part in text
    data = json.loads(json.dumps(report.json()))
    assert data["figures"][0]["targets"][0]["verdict"] == "reached"
    assert data["figures"][0]["timings"][0]["median"] == 2e-6
    assert figure_text(figure, outcome).startswith(figure.title)


def test_functions_are_found_in_the_namespace():
    found = calls()
    assert CALLS.keys() | OPERATORS.keys() <= found.keys()
    assert len(found) > 200
    arithmetic = {
        "add",
        "matmul",
        "sin",
        "sum",
        "max",
        "cumsum",
        "concatenate",
        "linalg.norm",
        "take",
        "sort",
    }
    assert arithmetic <= found.keys()
    assert not {"argmax", "isnan", "shape", "ones_like"} & found.keys()
    assert found.keys() - OPERATORS.keys() <= functions().keys()


@pytest.mark.parametrize(
    "name", ["arctan2", "x[mask]", "cumsum", "put", "linalg.norm", "vstack", "logsumexp"]
)
def test_functions_are_timed_in_both_directions(name):
    call = calls()[name]
    timings, notes = function_figures.times(call, name, 10, Settings(), BRIEF)
    assert not [note for note in notes if "eager" in note or "replay" in note]
    timed = {timing.name for timing in timings}
    kinds = [f"{direction}, {kind}" for direction in ("forward", "gradient") for kind in ("eager", "replay")]
    assert {f"{name}, 10, {kind}" for kind in kinds} <= timed


def function_timings(name, n, direction="forward", **seconds):
    names = [f"{name}, {n}, {direction}, {kind}" for kind in seconds]
    return [timing(name, each) for name, each in zip(names, seconds.values(), strict=True)]


FUNCTION_TIMINGS = [
    *function_timings("take", "10", eager=4e-6),
    *function_timings("add", "10", eager=1e-6),
    *function_timings("slow", "10", eager=2e-6, torch=1e-6),
    *function_timings("slow", "1,000,000", eager=2e-3, torch=1e-3),
    *function_timings("slow", "1,000,000", "gradient", eager=8e-3, replay=3e-3, torch=1e-3),
    *function_timings("take", "1,000,000", eager=1.2e-3, torch=1e-3),
    *function_timings("erf", "1,000,000", eager=4e-3, torch=1e-3),
]


def test_functions_are_judged():
    assert [target.measured for target in function_table.targets(FUNCTION_TIMINGS)] == [1, 2]
    assert function_table.slower(FUNCTION_TIMINGS) == [
        "slow, gradient: 8.0 times torch's: no reason is known",
        f"erf, forward: 4.0 times torch's: {function_table.REASONS['erf']}",
        "slow, forward: 2.0 times torch's: no reason is known",
    ]
    assert function_table.means(FUNCTION_TIMINGS) == [
        "10 elements, forward, geometric mean by torch: eager 2.00 (1 functions)",
        "1,000,000 elements, forward, geometric mean by torch: eager 2.13 (3 functions)",
        "1,000,000 elements, gradient, geometric mean by torch: eager 8.00 (1 functions), "
        "replay 3.00 (1 functions)",
    ]


def test_functions_are_a_sorted_table():
    head, *rows = function_table.table(FUNCTION_TIMINGS)
    assert [row[:2] for row in rows[:3]] == [("add", "forward"), ("add", "gradient"), ("erf", "forward")]
    slow = dict(zip(head, rows[5], strict=True))
    assert slow["direction"] == "gradient"
    assert slow["1e6: replay"] == "2.7 ms"
    assert slow["1e6: MyGrad"] == "-"
    assert slow["eager by torch at 1e6"] == "8"


def test_reasons_are_those_of_functions():
    assert function_table.REASONS.keys() <= calls().keys()


def test_progress_is_a_line_now_and_then(capsys):
    names = [str(k) for k in range(30)]
    assert list(progress(names)) == names
    assert capsys.readouterr().err.split("\n") == ["    0 of 30: 0", "    25 of 30: 25", ""]


def test_loops_over_compiled_functions_give_the_answer():
    found, answer = compiled_contenders(4)
    for contender in found:
        check(contender, answer)


@pytest.mark.parametrize("case", small.CASES.values(), ids=small.CASES)
def test_loop_by_hand_gives_value_and_gradient(case):
    workload = case.workload(case.small_size)
    x = workload.build(case.small_size)
    value, gradient = workload.reference(x)
    assert value == pytest.approx(float(workload.over(tg)(x)), rel=1e-12)
    for i in range(x.size):
        step = 1e-6 * (np.arange(x.size) == i)
        difference = workload.reference(x + step)[0] - workload.reference(x - step)[0]
        assert gradient[i] == pytest.approx(difference / 2e-6, rel=1e-6, abs=1e-7 * np.max(np.abs(gradient)))


@OF_TORCH
@pytest.mark.parametrize("case", small.CASES.values(), ids=small.CASES)
def test_contenders_of_small_pieces_agree_with_the_loop(case):
    found, answers, _ = small_figures.contenders(case, case.small_size)
    assert {small_figures.OURS, small_figures.HAND} <= {each.name for each in found}
    for contender, answer in zip(found, answers, strict=True):
        check(contender, answer)


def test_small_pieces_are_judged_by_the_loop_and_by_peers():
    ours, hand, jax = small_figures.OURS, small_figures.HAND, small_figures.JAX
    found = SmallRace(small.CASES["matfac"]).targets(
        [timing(ours, 4e-6), timing(hand, 2e-6), timing(jax, 3e-6)]
    )
    assert [(target.measured, target.verdict) for target in found] == [(2, "reached"), (0.75, "missed")]
    found = SmallRace(small.CASES["heat-roll"]).targets([timing(ours, 4e-6), timing(hand, 3e-6)])
    assert [target.verdict for target in found] == ["not measured"]


def test_small_pieces_are_a_table_of_ratios():
    rows = small_figures.table([timing(small_figures.OURS, 4e-6), timing(small_figures.HAND, 2e-6)])
    assert rows[1:] == [
        ("4 us", "2 x", "1 x", small_figures.OURS),
        ("2 us", "1 x", "2 x", small_figures.HAND),
    ]


def test_figures_are_named_by_their_first_word():
    assert figures_named("rosenbrock-10") == ["rosenbrock-10"]
    assert figures_named("small") == [f"small-{name}" for name in small.CASES]
    assert figures_named("smal") == []

"""AC optimal power flow: case files are read as PowerModels reads them, and what is wrong is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perf.figures import FIGURES, Settings
from perf.figures.power_flow import COSTS, check_costs
from perf.peers import Unavailable
from perf.power_flow.matpower import Network, read
from perf.power_flow.measurement import DATA, case_file, check_callbacks, point_of
from perf.power_flow.model import PowerFlow
from perf.power_flow.solvers import CALLBACKS, SOLVERS
from perf.report import figure_text
from tapegrad.testing.timer import Contender, WrongAnswer

FIGURE = FIGURES["power-flow"]
CASE = """function mpc = small
mpc.version = '2';
mpc.baseMVA = 100.0; % MVA
%% bus data: 7 is isolated
mpc.bus = [
  9  1  50.0  20.0  2.0  -4.0  1  1.0  0.0  230.0  1  1.10  0.90;
  7  4  99.0  99.0  0.0   0.0  1  1.0  0.0  230.0  1  1.05  0.95;
  2  3   0.0   0.0  0.0   0.0  1  1.0  0.0  230.0  1  1.06  0.94;
  % 5  1  1.0  1.0 0 0 1 1 0 230 1 1.1 0.9;
  4, 2, 10.0, 0.0, 0.0, 0.0, 1, 1.0, 0.0, 230.0, 1, 1.10, 0.90;
];
mpc.gen = [
  2  0.0  0.0  30.0  -30.0  1.0  100.0  1  200.0  10.0;
  4  0.0  0.0  30.0  -30.0  1.0  100.0  0  200.0   0.0;
  7  0.0  0.0  30.0  -30.0  1.0  100.0  1  200.0   0.0;
  4  0.0  0.0  40.0  -20.0  1.0  100.0  1  150.0   0.0;
];
mpc.gencost = [
  2  0.0  0.0  3  0.02  14.0  5.0;
  2  0.0  0.0  3  1.0  1.0  1.0;
  2  0.0  0.0  3  1.0  1.0  1.0;
  2  0.0  0.0  2  30.0  7.0;
];
mpc.branch = [
  2  9  0.01  0.10  0.04  150.0  0.0  0.0  0.0   0.0  1  -30.0   30.0;
  9  2  0.01  0.10  0.04  150.0  0.0  0.0  0.98  5.0  1  -360.0  360.0;
  4  2  0.00  0.20  0.00    0.0  0.0  0.0  0.0   0.0  1    0.0    0.0;
  4  9  0.01  0.10  0.00   50.0  0.0  0.0  0.0   0.0  0  -30.0   30.0;
  7  9  0.01  0.10  0.00   50.0  0.0  0.0  0.0   0.0  1  -30.0   30.0;
];
"""


@pytest.fixture
def network(tmp_path: Path) -> Network:
    (tmp_path / "small.m").write_text(CASE)
    return read(tmp_path / "small.m")


@pytest.fixture(scope="module")
def flow() -> PowerFlow:
    return PowerFlow(read(case_file(DATA, "14_ieee")))


def test_elements_in_service_are_numbered_from_zero(network: Network) -> None:
    assert network.reference.tolist() == [1]
    assert network.generator_bus.tolist() == [1, 2]
    assert network.ends.tolist() == [[1, 0, 2], [0, 1, 1]]


def test_numbers_are_in_per_unit(network: Network) -> None:
    np.testing.assert_allclose(network.load, [0.5 + 0.2j, 0, 0.1])
    np.testing.assert_allclose(network.shunt, [0.02 - 0.04j, 0, 0])
    np.testing.assert_allclose(network.voltage, [[0.9, 0.94, 0.9], [1.1, 1.06, 1.1]])
    np.testing.assert_allclose(network.active, [[0.1, 0.0], [2.0, 1.5]])
    np.testing.assert_allclose(network.reactive, [[-0.3, -0.2], [0.3, 0.4]])
    np.testing.assert_allclose(network.cost, [[200, 0], [1400, 3000], [5, 7]])
    np.testing.assert_allclose(network.charging, [0.02, 0.02, 0])
    np.testing.assert_allclose(network.admittance * np.array([0.01 + 0.1j, 0.01 + 0.1j, 0.2j]), 1)
    np.testing.assert_allclose(network.tap, [1, 0.98 * np.exp(1j * np.radians(5)), 1])


def test_limits_that_are_none_are_those_of_powermodels(network: Network) -> None:
    widest = 1.0472
    np.testing.assert_allclose(network.angle[1], [np.radians(30), widest, widest])
    np.testing.assert_allclose(network.angle[0], -network.angle[1])
    drop = np.sqrt(1.1**2 + 1.06**2 - 2 * 1.1 * 1.06 * np.cos(widest))
    np.testing.assert_allclose(network.rate, [1.5, 1.5, 1.1 * drop / 0.2])


def test_a_network_without_reference_has_that_of_its_largest_generator(tmp_path: Path) -> None:
    (tmp_path / "small.m").write_text(CASE.replace("  2  3   0.0", "  2  2   0.0"))
    assert read(tmp_path / "small.m").reference.tolist() == [1]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("2  0.0  0.0  3  0.02", "1  0.0  0.0  3  0.02", "polynomials"),
        ("2  0.0  0.0  2  30.0  7.0;", "2  0.0  0.0  4  1.0  2.0  30.0  7.0;", "polynomials"),
        ("  2  0.0  0.0  2  30.0  7.0;\n", "", "3 rows of costs for 4 generators"),
        ("mpc.branch", "mpc.branches", "no case"),
    ],
)
def test_files_that_are_not_understood_are_refused(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    (tmp_path / "small.m").write_text(CASE.replace(before, after))
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "small.m")


def test_power_that_enters_branches_is_that_of_complex_voltages(network: Network) -> None:
    flow = PowerFlow(network)
    x = flow.start + np.random.default_rng(3).normal(0, 0.1, flow.start.shape)
    angles, magnitudes, active, reactive, p, q = np.split(x, np.cumsum([3, 3, 2, 2, 6]))
    v, (one, other) = magnitudes * np.exp(1j * angles), network.ends
    # A branch is an ideal transformer, then a line with half of its charging at each end
    inside = v[one] / network.tap
    current = network.admittance * (inside - v[other])
    first = inside * np.conj(current + 1j * network.charging * inside)
    second = v[other] * np.conj(1j * network.charging * v[other] - current)
    power = np.concatenate([first, second])
    left = network.load + np.conj(network.shunt) * np.abs(v) ** 2
    np.add.at(left, network.ends.ravel(), p + 1j * q)
    np.subtract.at(left, network.generator_bus, active + 1j * reactive)
    values, limits = flow.constraints(x), flow.constraint_bounds
    np.testing.assert_allclose(values[:1], angles[1])
    np.testing.assert_allclose(values[1:7] - limits[0, 1:7], [*left.real, *left.imag], atol=1e-14)
    np.testing.assert_allclose(values[7:19], [*(power.real - p), *(power.imag - q)], atol=1e-13)
    np.testing.assert_allclose(values[22:], np.abs(p + 1j * q) ** 2)
    np.testing.assert_allclose(limits[1, 22:], np.tile(network.rate, 2) ** 2)
    assert np.array_equal(limits[0, :19], limits[1, :19])


@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "CVXPY"])
def test_callbacks_are_checked(flow: PowerFlow, name: str) -> None:
    try:
        solver = SOLVERS[name](flow)
    except Unavailable as reason:
        pytest.skip(f"{name}: {reason}")
    assert solver.callbacks is not None
    point = point_of(flow)
    found = solver.callbacks(point)
    check_callbacks(flow, point, found)
    for k, callback in enumerate(CALLBACKS):
        (answer,) = found[k].read(found[k].call())
        off = np.array(answer)
        off.reshape(-1)[0] += 1e-3 * np.max(np.abs(off))
        wrong = list(found)
        wrong[k] = Contender(name, found[k].call, lambda _, off=off: (off,))  # type: ignore[misc]
        with pytest.raises(WrongAnswer, match=callback):
            check_callbacks(flow, point, wrong)


def test_costs_are_the_published_ones() -> None:
    check_costs("5_pjm", {"one": {"objective": 17551.9}, "other": {}})
    for wrong in (17554.0, np.nan):
        with pytest.raises(WrongAnswer, match="other, 5_pjm"):
            check_costs("5_pjm", {"one": {"objective": 17551.9}, "other": {"objective": wrong}})


def test_quick_run_is_a_table() -> None:
    pytest.importorskip("ipyopt")
    outcome = FIGURE.measure(Settings(quick=True, without=frozenset({"casadi", "cvxpy"})))
    assert [row[0] for row in outcome.table] == ["case", "5_pjm", "14_ieee"]
    assert [row[1:4] for row in outcome.table[1:]] == [("5", "44", "53"), ("14", "118", "169")]
    assert outcome.targets[0].verdict == "reached"
    assert {target.verdict for target in outcome.targets[1:]} == {"not measured"}
    text = figure_text(FIGURE, outcome)
    for part in ("17551.9", "2178.08", "CasADi SX: casadi is left out", "CVXPY: cvxpy is left out"):
        assert part in text


def test_peers_take_part_where_they_are_installed() -> None:
    for package in ("ipyopt", "casadi"):
        pytest.importorskip(package)
    outcome = FIGURE.measure(Settings(quick=True, without=frozenset({"cvxpy"})))
    assert [row[4] for row in outcome.table[1:]] == ["tapegrad", "CasADi SX", "CasADi MX"] * 2
    assert all(target.measured is not None for target in outcome.targets)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="git clone"):
        FIGURE.measure(Settings(data=tmp_path))
    with pytest.raises(Unavailable, match="ipyopt is left out"):
        FIGURE.measure(Settings(quick=True, without=frozenset({"ipyopt"})))


def test_a_start_lies_within_the_limits(flow: PowerFlow) -> None:
    assert np.all(flow.bounds[0] <= flow.start)
    assert np.all(flow.start <= flow.bounds[1])
    assert COSTS.keys() >= {"5_pjm", "14_ieee"}
    narrow = PowerFlow(replace(flow.network, active=flow.network.active + 3.0))
    assert np.all(narrow.bounds[0] <= narrow.start)

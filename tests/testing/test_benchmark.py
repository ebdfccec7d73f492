"""`benchmark`: answers are checked, contenders without one are listed, functions get other namespaces.

Nothing here is about speed.
"""

import json
import subprocess
import sys
import types
from functools import partial

import numpy as np
import pytest
from numpy import exp

import tapegrad as tg
from tapegrad.testing import WrongAnswer, benchmark, peers
from tapegrad.testing.namespaces import NamespaceCopies, PeerNames

POINT = np.linspace(0.5, 1.5, 4)
WEIGHTS = np.arange(1.0, 5.0)
PEERS = ("autograd", "casadi", "jax", "torch")
brief = partial(benchmark, seconds=0.002)


def residuals(x):
    return x[1:] - x[:-1] ** 2


def rosenbrock(x):
    return np.sum(100 * residuals(x) ** 2 + (1 - x[:-1]) ** 2)


def weighted(x, scale=WEIGHTS, *, shift=0.5):
    return np.sum(scale * WEIGHTS * exp(-x) + shift)


def answer(maker, f, quantity):
    """The answer of a contender at `POINT`, and along ones."""
    given = (POINT, np.ones(4)) if quantity == "hvp" else (POINT,)
    return peers.read(maker(f, POINT, quantity)(*given))


@pytest.fixture
def faulty(monkeypatch):
    """Return a function that adds a peer, which returns or raises what is given for each quantity."""

    def add(answers):
        def maker(f, x, quantity):
            def call(*given):
                if isinstance(answers[quantity], Exception):
                    raise answers[quantity]
                return answers[quantity]

            return call

        for table in (peers.PEERS, peers.MAKERS):
            monkeypatch.setitem(table, "math", maker)
        monkeypatch.setattr(peers, "version", lambda name: "1.0")

    return add


# --- answers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tapegrad eager", "tapegrad replay", *PEERS])
@pytest.mark.parametrize("f", [rosenbrock, weighted], ids=lambda f: f.__name__)
def test_a_contender_has_the_derivatives(name, f):
    if name in PEERS:
        pytest.importorskip(name)
    with peers.imported([name]):
        (value,), both, (product,) = (answer(peers.MAKERS[name], f, each) for each in peers.QUANTITIES)
    expected = tg.value_and_grad(f)(POINT)
    np.testing.assert_allclose(value, f(POINT), rtol=1e-12)
    np.testing.assert_allclose(both[0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(both[1], expected[1], rtol=1e-12)
    np.testing.assert_allclose(product, tg.hessian(f)(POINT) @ np.ones(4), rtol=1e-12)


def test_each_quantity_has_a_row_for_each_contender():
    found = brief(rosenbrock, POINT, beside="numpy")
    own = ["tapegrad eager", "tapegrad replay"]
    assert [(row.quantity, row.name) for row in found] == [
        *(("value", name) for name in (*own, "numpy")),
        *((quantity, name) for quantity in ("gradient", "hvp") for name in own),
    ]
    for row in found:
        assert 0 < row.minimum <= row.low <= row.median <= row.high
        assert row.first > 0
        assert row.rounds == len(row.seconds) >= 5
    assert not found.notes


@pytest.mark.parametrize("f", [tg.jit(rosenbrock), lambda x: tg.sum(tg.sin(x))], ids=["recorded", "tapegrad"])
def test_recorded_functions_and_those_in_words_of_tapegrad_are_measured(f):
    assert len(brief(f, [0.5, 1.0, 2.0])) == 6


def test_single_precision_stays():
    assert "float32 of shape (4,)" in brief(rosenbrock, POINT.astype(np.float32)).title


def test_integers_become_floats():
    assert "float64 of shape (3,)" in brief(rosenbrock, [1, 2, 3], of=["gradient"]).title


@pytest.mark.parametrize("name", ["autograd", "jax", "torch"])
def test_a_number_is_an_array_of_no_dimensions(name):
    pytest.importorskip(name)
    found = brief(lambda x: np.exp(x) * x, 0.5, beside=name)
    assert "float64 of shape ()" in found.title
    assert {row.name for row in found} == {"tapegrad eager", "tapegrad replay", name}


# --- contenders that have no answer, or a wrong one --------------------------------------------------------------


@pytest.mark.parametrize(
    ("quantity", "wrong", "text"),
    [
        ("value", np.float64(1.0), "math: the value is off by .* of its largest element"),
        ("gradient", (rosenbrock(POINT), np.ones(4)), "math: the gradient is off by"),
        ("gradient", (rosenbrock(POINT), np.ones(3)), r"math: gradient of shape \(3,\) instead of \(4,\)"),
        ("hvp", np.full(4, np.nan), "math: the hvp is off by nan"),
    ],
)
def test_a_wrong_answer_is_an_error(faulty, quantity, wrong, text):
    faulty({quantity: wrong})
    with pytest.raises(WrongAnswer, match=text):
        brief(rosenbrock, POINT, beside=["math"], of=[quantity])


def test_the_answer_is_looked_at_once_more_after_the_rounds():
    calls = []

    def drifting(x):
        calls.append(0)
        return np.sum(x) * (1.0 if len(calls) < 5 else 2.0)

    with pytest.raises(WrongAnswer, match="tapegrad"):
        brief(drifting, POINT, of=["value"])


def test_a_value_that_is_not_a_number_is_wrong_for_all():
    with pytest.raises(WrongAnswer, match="tapegrad eager: the value is off by nan"):
        brief(lambda x: np.sum(x * np.nan), POINT)


def test_a_peer_that_fails_is_listed_with_the_reason(faulty):
    faulty(
        {"value": TypeError("no such\nthing"), "gradient": TypeError("no such\nthing"), "hvp": KeyError("x")}
    )
    found = brief(rosenbrock, POINT, beside="math")
    assert {row.name for row in found} == {"tapegrad eager", "tapegrad replay"}
    assert found.notes == (
        "left out: math (value, gradient): TypeError: no such",
        "left out: math (hvp): KeyError: 'x'",
    )
    assert str(found).endswith("\n".join(found.notes))


def test_a_peer_that_is_not_installed_is_listed(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax.scipy.special", None)
    found = brief(rosenbrock, POINT, beside="jax", of="value")
    assert found.notes == ("left out: jax: not installed",)
    assert [row.name for row in found] == ["tapegrad eager", "tapegrad replay"]


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_that_cannot_have_another_namespace_is_listed(name):
    pytest.importorskip(name)
    found = brief(partial(weighted, shift=1.0), POINT, beside=name, of="value")
    assert f"left out: {name} (value): TypeError: only a function of Python" in "\n".join(found.notes)


def test_a_function_that_fails_raises_its_own_error():
    with pytest.raises(ZeroDivisionError):
        brief(lambda x: 1 / 0, POINT)


@pytest.mark.parametrize("settings", [{"beside": "jux"}, {"of": "grad"}, {"beside": ["value"]}], ids=str)
def test_unknown_names_are_refused(settings):
    with pytest.raises(ValueError, match="is unknown; there are "):
        brief(rosenbrock, POINT, **settings)


def test_jax_has_its_own_precision_afterwards():
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    with peers.imported(["jax"]):
        assert jax.config.jax_enable_x64
    assert jax.config.jax_enable_x64 == before


# --- namespaces --------------------------------------------------------------------------------------------------


def helper(x):
    return calling_helpers(x[:1]) + np.cos(x) * np.ndim(x)


def calling_helpers(x):
    if len(x) == 1:
        return exp(x)
    return np.sum(helper(x) + (lambda y: np.sin(y))(x)) + np.linalg.norm(x)


def recorder():
    """Names that note what is asked of them, and answer as NumPy."""
    asked = []

    class Names(types.SimpleNamespace):
        def __getattr__(self, name):
            asked.append(name)
            return getattr(np, name)

    return Names(), asked


def copied(f, names, asarray=lambda array: array):
    return NamespaceCopies({"numpy": names, "tapegrad": names}, asarray).function(f)


def test_globals_of_helpers_are_replaced():
    names, asked = recorder()
    copy = copied(calling_helpers, names)
    assert copy(POINT) == calling_helpers(POINT)
    assert set(asked) == {"exp", "cos", "sin", "linalg", "sum", "ndim"}
    assert calling_helpers.__globals__["np"] is np


def test_closures_are_replaced():
    import tapegrad as other  # noqa: PLC0415  a variable of the closure

    def inner(x):
        return np_of_closure.sin(x) + other.cos(x)

    def outer(x):
        return inner(x) * data

    np_of_closure, data = np, WEIGHTS
    names, asked = recorder()
    copy = copied(outer, names, lambda array: 2 * array)
    np.testing.assert_array_equal(copy(POINT), 2 * (np.sin(POINT) + np.cos(POINT)) * WEIGHTS)
    assert asked == ["sin", "cos"]
    np.testing.assert_array_equal(data, np.arange(1.0, 5.0))


def test_functions_that_call_themselves_have_one_copy():
    def power(x, n):
        return np.ones_like(x) if n == 0 else x * power(x, n - 1)

    names, asked = recorder()
    np.testing.assert_array_equal(copied(power, names)(POINT, 3), POINT * POINT * POINT)
    assert asked == ["ones_like"]


def test_defaults_and_data_are_converted():
    names, _ = recorder()
    copy = copied(weighted, names, lambda array: 3 * array)
    np.testing.assert_allclose(copy(POINT) - 2, 9 * (weighted(POINT) - 2))


def test_a_recorded_helper_is_the_function_inside():
    recorded = tg.jit(lambda x: np.sin(x))
    names, asked = recorder()
    assert isinstance(copied(lambda x: recorded(x), names)(POINT), np.ndarray)
    assert asked == ["sin"]


def test_other_modules_and_objects_stay():
    held = {"data": WEIGHTS}

    def f(x):
        return json.dumps(len(x)), held, np.float64

    names, _ = recorder()
    text, same, kind = copied(f, names)(POINT)
    assert text == "4"
    assert same is held
    assert kind is np.float64


def test_a_name_of_numpy_that_is_called_otherwise():
    names = PeerNames(np, {"fabs": np.negative})
    assert names.fabs(1.0) == -1.0
    assert names.sin is np.sin


# --- what is written ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found():
    return brief(rosenbrock, POINT, beside="numpy")


def test_the_table_has_all_rows(found):
    title, head, *rows = str(found).splitlines()
    assert title.startswith("rosenbrock, float64 of shape (4,): tapegrad ")
    assert head.split("  ")[-1] == "first call"
    assert len(rows) == len(found)
    assert sum("  1 x " in row for row in rows) >= 3
    assert "<table>" in found._repr_html_()


def test_the_picture_has_a_bar_a_row(found, tmp_path):
    picture = str(found.plot())
    assert picture.count("<rect ") == len(found) + 1  # and the ground
    assert all(f"{row.quantity}, {row.name}" in picture for row in found)
    found.plot().save(tmp_path / "bars.svg")
    assert (tmp_path / "bars.svg").read_text().startswith("<?xml")


def test_json_has_the_form_of_pyperf(found, tmp_path):
    """Version 1.0: values are positive seconds of one call, warm-ups are pairs of loops and seconds of one call."""
    file = tmp_path / "times.json"
    found.save(file)
    suite = json.loads(file.read_text())
    assert suite["version"] == "1.0"
    assert suite["metadata"]["numpy_version"] == np.__version__
    assert all(isinstance(value, str) for value in suite["metadata"].values())
    names = [each["metadata"]["name"] for each in suite["benchmarks"]]
    assert len(names) == len(set(names)) == len(found)
    for row, each in zip(found, suite["benchmarks"], strict=True):
        assert each["metadata"] == {
            "name": f"{row.quantity}, {row.name}",
            "unit": "second",
            "loops": row.calls,
        }
        (run,) = each["runs"]
        assert run == {"warmups": [[1, row.first]], "values": list(row.seconds)}
        assert all(value > 0 for value in run["values"])


def test_pyperf_reads_it(found, tmp_path):
    pyperf = pytest.importorskip("pyperf")
    file = tmp_path / "times.json"
    found.save(file)
    suite = pyperf.BenchmarkSuite.load(str(file))
    for row, each in zip(found, suite.get_benchmarks(), strict=True):
        assert each.get_values() == row.seconds
        assert each.median() == pytest.approx(row.median)
        assert each.get_unit() == "second"
        assert each.get_runs()[0].warmups == ((1, row.first),)
        assert each.get_loops() == row.calls


# --- the command -------------------------------------------------------------------------------------------------


def run_bench(folder, *arguments):
    command = [sys.executable, "-m", "tapegrad", "bench", *arguments, "--seconds", "0.002"]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)


@pytest.fixture
def folder(tmp_path):
    text = "import numpy as np\n\n\ndef half(x):\n    return 0.5 * x\n\n\ndef f(x):\n    return np.sum(half(x) ** 2)\n"
    (tmp_path / "file.py").write_text(text)
    return tmp_path


def test_the_command_prints_writes_and_draws(folder):
    done = run_bench(
        folder, "file.py:f", "np.ones(3)", "--beside", "numpy", "--json", "a.json", "--plot", "a.svg"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("f, float64 of shape (3,): ")
    assert "gradient  tapegrad replay" in done.stdout
    assert done.stderr == "wrote a.json\nwrote a.svg\n"
    assert len(json.loads((folder / "a.json").read_text())["benchmarks"]) == 7
    assert (folder / "a.svg").exists()


def test_the_command_has_an_array_of_its_own(folder):
    done = run_bench(folder, "file.py:f", "--of", "value")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("f, float64 of shape (10,): ")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["file.py:g"], "file.py:g: "),
        (["file.py:f", "--beside", "jux"], "'jux' is unknown"),
        (["file.py:half"], "file.py:half: "),
        (["file.py:f", "--plot", "a.png"], "bars are written as .svg"),
        (["file.py:f", "np.nan", "--of", "value"], "a wrong answer: tapegrad eager: the value is off by nan"),
    ],
)
def test_the_command_says_why_it_cannot(folder, arguments, text):
    done = run_bench(folder, *arguments)
    assert done.returncode == (1 if "wrong" in text else 2)
    assert text in done.stderr
    assert "Traceback" not in done.stderr

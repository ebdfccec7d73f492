"""What is shown of fused segments: which instructions they run, their arithmetic, LLVM's instructions."""

import numpy as np
import pytest
from llvmlite import binding

import tapegrad as tg
from tapegrad.cli import main

X = np.linspace(0.25, 1.5, 6)
WEIGHTS = np.linspace(1.0, 2.0, 6)


def rosenbrock(x):
    return tg.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def weighted(x):
    return tg.sum(tg.exp(x) * WEIGHTS * tg.sin(x))


def branched(x):
    return tg.sum(tg.where(x > 0.5, tg.log(x), x * 3.0))


def executed(segment, **given):
    """The lines after the statements of a segment have been executed by NumPy."""
    lines = {**vars(np), "c0": WEIGHTS, **given}
    for statement in segment.arithmetic:
        exec(statement, lines)
    return lines


@pytest.mark.parametrize("function", [rosenbrock, weighted, branched])
def test_the_arithmetic_is_what_is_computed(function):
    f = tg.jit(function, fuse=True)
    value, gradient = tg.value_and_grad(f)(X)
    (segment,) = [each for each in f.tape(X).segments if each.computes == "value_and_grad"]
    result = f"v{max(segment.instructions)}"
    found = executed(segment, x0=X, x0_bar=np.zeros(6), **{f"{result}_bar": 1.0})
    np.testing.assert_allclose(found[result], value)
    np.testing.assert_allclose(found["x0_bar"], gradient)
    assert {*segment.instructions} == {*range(max(segment.instructions) + 1)}
    assert segment.elements == 6


def test_tangents_are_shown():
    f = tg.jit(weighted, fuse=True)
    value, tangent = tg.jvp(f, (X,), (WEIGHTS,))
    (segment,) = [each for each in f.tape(X).segments if each.computes == "jvp"]
    found = executed(segment, x0=X, x0_dot=WEIGHTS)
    last = max(segment.instructions)
    np.testing.assert_allclose([found[f"v{last}"], found[f"v{last}_dot"]], [value, tangent])


def test_the_tape_lists_them_and_llvm_can_read_them():
    f = tg.jit(rosenbrock, fuse=True)
    assert tg.jit(rosenbrock, fuse=False).tape(X).segments == []
    text = str(f.tape(X))
    assert text.endswith("segments\n  0  forward: forward 0-7; 5 elements")
    assert text.startswith(str(tg.jit(rosenbrock, fuse=False).tape(X)))
    (segment,) = f.tape(X).segments
    assert repr(segment) == "<segment of forward: forward 0-7; 5 elements>"
    assert str(segment).splitlines()[1] == "    v0 = square(x0[0:5])"
    with binding.parse_assembly(segment.ir, binding.create_context()) as module:
        module.verify()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "written.py"
    path.write_text("import tapegrad as tg\n\n\ndef energy(x, k):\n    return tg.sum(x * x) * k\n")
    return path


def test_the_command(file, capsys):
    assert main(["segments", f"{file}:energy", "np.ones(3)", "2.0"]) == 0
    shown = capsys.readouterr().out
    assert "value_and_grad: forward 0-2" in shown
    assert "v0 = x0*x0" in shown or "v0 = square(x0)" in shown
    assert main(["segments", f"{file}:energy", "np.ones(3)", "2.0", "--of", "forward", "--ir", "0"]) == 0
    assert "define i64" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["energy"], "MODULE:FUNCTION"),
        (["no_such_module:energy"], "no_such_module"),
        (["{}:entropy"], "entropy"),
        (["{}:__name__"], "is not a function"),
        (["{}:energy", "np.ones("], "the argument 'np.ones('"),
        (["{}:energy", "np.ones(3)"], "cannot be recorded: TypeError"),
        (["{}:energy", "np.ones(3)", "2.0", "--ir", "9"], "there is no segment 9"),
    ],
)
def test_what_the_command_refuses(file, capsys, arguments, said):
    assert main(["segments", *(each.format(file) for each in arguments)]) == 2
    assert said in capsys.readouterr().err

"""Copies, pickles and weak references: each works, or says what to do; what is half made is let go of in silence."""

import copy
import functools
import gc
import multiprocessing
import pickle
import sys
import weakref

import numpy as np
import pytest

import tapegrad as tg
from helpers.table_loops import grouped
from tapegrad.engine.tape.tape import Tape
from tapegrad.frontend.tensor import arrays
from tapegrad.program.programs.program import Program
from tapegrad.program.programs.workspace import Workspace
from tapegrad.program.recording.recording import RecordedTape

X = np.array([0.5, 1.0, 2.0])


def unpickled(value, protocol=pickle.HIGHEST_PROTOCOL):
    return pickle.loads(pickle.dumps(value, protocol))


WAYS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {p}": functools.partial(unpickled, protocol=p) for p in (0, 2, pickle.HIGHEST_PROTOCOL)},
}
all_ways = pytest.mark.parametrize("duplicate", WAYS.values(), ids=WAYS)

# --- Tensors ----------------------------------------------------------------------------------------------------


def used(tensor):
    """A leaf that has a gradient and a hook."""
    tensor.register_hook(lambda gradient: gradient)
    (tensor * tensor).backward()
    return tensor


def freed(tensor):
    """A computed Tensor, after its graph is released."""
    result = tensor * 2
    result.backward()
    return result


LEAVES = {
    "leaf": lambda: tg.tensor(X),
    "scalar": lambda: tg.tensor(2.0),
    "float32": lambda: tg.tensor(X, np.float32),
    "constant": lambda: tg.tensor(X, constant=True),
    "integers": lambda: tg.tensor([1, 2]),
    "booleans": lambda: tg.tensor([True, False]),
    "empty": lambda: tg.tensor(np.zeros((0, 3))),
    "with gradient and hook": lambda: used(tg.tensor(X)),
    "on NumPy's memory": lambda: tg.asarray(X.copy()),
    "of another order": lambda: tg.asarray(np.asfortranarray(np.ones((2, 3)))),
    "view": lambda: tg.tensor(X)[1:],
    "reversed view": lambda: tg.tensor(X)[::-1],
    "broadcast view": lambda: tg.broadcast_to(tg.tensor(X), (2, 3)),
    "three dimensions": lambda: tg.ones((2, 3, 4))[:, 1],
    "computed constant": lambda: tg.tensor(X, constant=True) * 2,
    "detached": lambda: (tg.tensor(X) * 2).detach(),
}
COMPUTED = {
    "result": lambda: tg.tensor(X) * 2,
    "view of a result": lambda: (tg.tensor(X) * 2)[1:],
    "written to": lambda: written(tg.tensor(X)),
    "freed": lambda: freed(tg.tensor(X)),
}


def written(tensor):
    tensor[0] = tensor[1] * 2
    return tensor


@grouped("make")
@all_ways
@pytest.mark.parametrize("make", LEAVES.values(), ids=LEAVES)
def test_leaves_and_constants(make, duplicate):
    tensor = make()
    twin = duplicate(tensor)
    assert (twin.constant, twin.dtype, twin.shape) == (tensor.constant, tensor.dtype, tensor.shape)
    assert twin.base is None
    np.testing.assert_array_equal(twin.data, tensor.data)
    assert not np.shares_memory(twin.data, tensor.data)
    if not twin.constant:
        assert twin.grad is None
        (twin * twin).backward()
        np.testing.assert_array_equal(twin.grad, 2 * tensor.data)


@all_ways
@pytest.mark.parametrize("make", COMPUTED.values(), ids=COMPUTED)
def test_what_was_computed_says_what_to_do_and_that_works(make, duplicate):
    tensor = make()
    with pytest.raises(TypeError, match=r"detach\(\).*tensor\(t\.data\)"):
        duplicate(tensor)
    for advised, constant in ((tensor.detach(), True), (tg.tensor(tensor.data), False)):
        twin = duplicate(advised)
        assert twin.constant is constant
        np.testing.assert_array_equal(twin.data, tensor.data)


@all_ways
def test_tensors_of_a_recording(duplicate):
    """Tensors of a recording are copied in the graph, and not pickled."""
    for traced in (lambda x: x, lambda x: x * 2, lambda x: x.detach(), lambda x: x > 1):
        copied = tg.jit(lambda x, traced=traced: duplicate(traced(x)))
        if duplicate in (copy.copy, copy.deepcopy):
            np.testing.assert_array_equal(copied(X + 1), traced(tg.tensor(X + 1, constant=True)))
            continue
        with pytest.raises(tg.TracedValueError, match="a copy or a pickle"):
            copied(X)
    assert tg.jit(lambda x: x * duplicate(tg.tensor([2.0])))(X).tolist() == [1.0, 2.0, 4.0]


def test_structures_of_tensors_keep_their_identity():
    x = tg.tensor(X)
    first, second = copy.deepcopy([x, x])
    assert first is second
    parameters = unpickled({"a": x, "b": tg.tensor(1.0)})
    assert list(parameters) == ["a", "b"]


def test_weak_references():
    x = tg.tensor(X)
    f = tg.jit(lambda x: tg.sum(x * x))
    f(X)
    gradient, op = tg.grad(f), tg.custom_op("weak", np.sin)
    objects = {"x": x, "y": x * 2, "view": x[1:], "f": f, "gradient": gradient, "op": op, "tape": f.tape(X)}
    references = {name: weakref.ref(value) for name, value in objects.items()}
    dictionary = weakref.WeakValueDictionary({"x": x})
    assert all(reference() is objects[name] for name, reference in references.items())
    assert dictionary["x"] is x
    del x, f, gradient, op
    objects.clear()
    gc.collect()
    assert not any(reference() is not None for reference in references.values())
    assert not dictionary


# --- functions --------------------------------------------------------------------------------------------------


def energy(x):
    return tg.sum(tg.sin(x) * x)


@tg.jit
def replayed_energy(x):
    return tg.sum(tg.sin(x) * x)


@tg.value_and_grad
@tg.jit
def energy_and_slope(x):
    return tg.sum(tg.sin(x) * x)


class Model:
    """Functions that are decorated where a class holds them."""

    def __init__(self, scale):
        self.scale = scale

    @tg.jit
    def energy(self, x):
        return tg.sum(tg.sin(x) * x) * self.scale

    def plain(self, x):
        return tg.sum(tg.sin(x) * x) * self.scale


@tg.custom_op("cubed", vjp=lambda y_bar, y, x: 3 * x**2 * y_bar)
def cube(x):
    return x**3


solve = tg.custom_op("solve", np.linalg.solve)
MADE = {
    "jit": lambda: tg.jit(energy),
    "decorated": lambda: replayed_energy,
    "of a public function": lambda: tg.jit(tg.sin),
    "of a ufunc": lambda: tg.jit(np.sin),
    "inside a decorated one": lambda: energy_and_slope.function,
    "of a decorated function": lambda: tg.jit(replayed_energy.function),
    "bound method": lambda: tg.jit(Model(2.0).plain),
    "decorated method": lambda: Model(2.0).energy,
    "partial": lambda: functools.partial(replayed_energy),
    "decorated twice": lambda: energy_and_slope,
    "grad": lambda: tg.grad(energy),
    "grad of jit": lambda: tg.grad(tg.jit(energy)),
    "value_and_grad": lambda: tg.value_and_grad(replayed_energy, (0,)),
    "jit of grad": lambda: tg.jit(tg.grad(energy)),
    "jacobian": lambda: tg.jacobian(tg.jit(tg.sin), mode="reverse"),
    "jacfwd": lambda: tg.jacfwd(tg.sin),
    "hessian": lambda: tg.hessian(replayed_energy),
    "hvp": lambda: functools.partial(tg.hvp(tg.jit(energy)), X),
    "third derivative": lambda: tg.jacobian(tg.hessian(replayed_energy)),
    "objective": lambda: tg.optimize.objective(energy, X).fun,
    "hess": lambda: tg.optimize.objective(replayed_energy, X).hess,
    "residuals": lambda: tg.optimize.residuals(tg.sin, X).jac,
    "custom op": lambda: cube,
    "no_grad": lambda: tg.no_grad()(energy_in_data),
}


@tg.no_grad()
def energy_in_data(x):
    return energy(tg.tensor(x)).data


def numbers(value):
    """A result as a list of plain arrays."""
    return [
        np.array(getattr(part, "data", part)) for part in (value if isinstance(value, tuple) else (value,))
    ]


@grouped("name")
@all_ways
@pytest.mark.parametrize("name", [name for name in MADE if name != "no_grad"])
def test_functions(name, duplicate):
    """Before and after use; the copy goes first, and the original does what it did."""
    original = MADE[name]()
    for _ in range(2):
        twin = duplicate(original)
        expected = numbers(original(X))
        for made, found in zip(expected, numbers(twin(X)), strict=True):
            np.testing.assert_array_equal(found, made)
        del twin
        gc.collect()
        for made, found in zip(expected, numbers(original(X)), strict=True):
            np.testing.assert_array_equal(found, made)


def test_recordings_stay_behind():
    f = tg.jit(energy)
    f(X)
    assert len(f.tape(X)) > 0
    calls = []
    counted = tg.jit(lambda x: (calls.append(0), x * 2)[1])
    counted(X)
    twin = copy.deepcopy(counted)
    twin(X)
    assert len(calls) == 2  # each has recorded it
    copy.copy(counted)(X)
    assert len(calls) == 3


def test_a_deep_copy_of_a_method_has_an_object_of_its_own():
    model = Model(2.0)
    f = tg.jit(model.plain)
    twin = copy.deepcopy(f)
    model.scale = 3.0
    assert f(X) == pytest.approx(1.5 * twin(X))


@all_ways
@pytest.mark.parametrize("made", [replayed_energy, energy_and_slope, cube], ids=["jit", "transform", "op"])
def test_what_a_module_holds_is_itself(made, duplicate):
    assert duplicate(made) is made


def test_ops_made_of_functions_of_others():
    twin = unpickled(solve)
    assert twin is not solve
    assert twin(np.eye(2), X[:2]).data.tolist() == X[:2].tolist()


def test_public_functions_are_found_by_their_names():
    for name in dir(tg):
        value = getattr(tg, name)
        if callable(value) and not name.startswith("_"):
            found = unpickled(value)
            assert found is value or isinstance(value, functools.partial), name


def test_functions_that_have_no_name_say_so():
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(tg.jit(lambda x: x))


@pytest.mark.parametrize("mode", [tg.no_grad, tg.detect_anomaly])
@all_ways
def test_modes_that_are_entered_are_copied_as_not_entered(mode, duplicate):
    x = tg.tensor(X)
    with mode() as entered:
        twin = duplicate(entered)
        inside = (x * 2).constant
        with twin:
            assert (x * 2).constant is (mode is tg.no_grad)
        assert (x * 2).constant is inside
    assert not (x * 2).constant


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_process_pools(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} on this system")
    points = [X, X + 1, X + 2]
    with multiprocessing.get_context(method).Pool(1) as pool:
        for f in (replayed_energy, tg.jit(energy), tg.grad(tg.jit(energy)), tg.grad(replayed_energy)):
            np.testing.assert_allclose(pool.map(f, points), [f(x) for x in points], rtol=1e-14)


# --- what stands for memory -------------------------------------------------------------------------------------


def recorded():
    f = tg.value_and_grad(tg.jit(energy))
    f(X)
    return f


MEMORY = {
    "the eager tape": tg.tape,
    "a recording": lambda: tg.jit(energy).tape(X),
    "a program": lambda: recorded()._fast.__self__[1].specialization.workspaces[0].program,
    "a workspace": lambda: recorded()._fast.__self__[1].specialization.workspaces[0],
    "the owner of shown memory": lambda: (tg.ones((2, 3, 4)) * 2).data.base.base,
    "a hook": lambda: tg.tensor(X).register_hook(lambda gradient: None),
}


@all_ways
@pytest.mark.parametrize("make", MEMORY.values(), ids=MEMORY)
def test_what_stands_for_memory_is_refused(make, duplicate):
    value = make()
    with pytest.raises(
        TypeError, match=r"cannot be copied or pickled, for it stands for|cannot pickle 'PyCapsule'"
    ):
        duplicate(value)
    del value
    gc.collect()
    np.testing.assert_allclose(tg.grad(tg.jit(energy))(X), np.sin(X) + X * np.cos(X))


@pytest.mark.parametrize(
    "function", [energy, tg.jit(energy), replayed_energy], ids=["plain", "recorded", "decorated"]
)
def test_pullbacks_are_copied_as_functions_are(function):
    _, pullback = tg.vjp(function, X)
    assert copy.copy(pullback) is copy.deepcopy(pullback) is pullback
    with pytest.raises(TypeError, match="make it anew"):
        pickle.dumps(pullback)
    np.testing.assert_allclose(pullback(np.ones(()))[0], np.sin(X) + X * np.cos(X))


# --- what is half made ------------------------------------------------------------------------------------------


class _Failing(RecordedTape):
    """Its columns are never allocated."""

    def __init__(self):
        self._fields = np.zeros(256, np.int64)
        self.header = int(self._fields.ctypes.data)
        raise ValueError("no")


@pytest.fixture
def unraisable(monkeypatch):
    """Exceptions raised outside of any handler."""
    found = []
    monkeypatch.setattr(sys, "unraisablehook", found.append)
    return found


def test_half_made_objects_are_let_go_of_in_silence(unraisable):
    kinds = (tg.Tensor, Tape, RecordedTape, Program, Workspace, arrays._ArrayOwner)
    for kind in (*kinds, type(tg.jit(energy)), type(cube)):
        half = object.__new__(kind)
        with pytest.raises((AttributeError, TypeError)):
            len(half.data)
        del half
    with pytest.raises(ValueError, match="no"):
        _Failing()
    gc.collect()
    assert unraisable == []


def test_a_pickle_that_breaks_off(unraisable):
    whole = pickle.dumps([tg.tensor(X), tg.jit(energy), tg.ones(4)])
    for end in range(0, len(whole), 7):
        with pytest.raises((EOFError, pickle.UnpicklingError, IndexError)):
            pickle.loads(whole[:end])
    gc.collect()
    assert unraisable == []


def test_a_tape_is_closed_once():
    tape = tg.jit(energy).tape(X)
    tape.__del__()
    tape.__del__()

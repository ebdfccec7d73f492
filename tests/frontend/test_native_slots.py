"""Operators, indexing and the finaliser of Tensors in C: they do what the Python methods do."""

import gc
import itertools
import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import not_daily
from helpers.memory import leaving_nothing
from helpers.table_loops import grouped
from tapegrad.engine.codegen.python_calls import handle_slots, type_slots
from tapegrad.engine.tape.fields.layout import SLOTS
from tapegrad.frontend.tensor import native_slots, tensor
from tapegrad.frontend.tensor.modes import EAGER, Mode

X = np.array([-0.0, 1.5, -2.0, np.inf, np.nan, 3.0])
BINARY = ("__add__", "__sub__", "__mul__", "__truediv__", "__pow__")
UNARY = ("__neg__", "__pos__", "__abs__")
OPERATORS = {
    "__add__": lambda x, y: x + y,
    "__sub__": lambda x, y: x - y,
    "__mul__": lambda x, y: x * y,
    "__truediv__": lambda x, y: x / y,
    "__pow__": lambda x, y: x**y,
}
OTHERS = {
    "a Tensor": lambda: tg.tensor([0.5, 2.0, -1.0, 0.0, 1.0, -3.0]),
    "a constant": lambda: tg.tensor(X + 1, constant=True),
    "a view": lambda: tg.tensor(np.arange(8.0))[1:7],
    "a column": lambda: tg.ones((2, 1)),
    "not on the tape": lambda: tg.asarray(np.arange(6.0)),
    "float32": lambda: tg.tensor(X, np.float32),
    "integers": lambda: tg.tensor([1, 2, 3, 4, 5, 6]),
    "a float": lambda: 0.3,
    **{
        f"the exponent {number!r}": lambda n=number: n for number in (2, 2.0, 0.5, -1, -1.0, 1, 0, 3, 4, True)
    },
    "a large integer": lambda: 2**70,
    "a NumPy number": lambda: np.float64(1.5),
    "an array": lambda: np.arange(6.0),
    "a list": lambda: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
}


@pytest.fixture(autouse=True)
def _operators_in_c():
    """Any operator writes the slots."""
    assert (tg.tensor([1.0]) + 1.0).item() == 2.0
    assert tensor.handles[0] is not tensor._new_handle


def gradients(result, *leaves):
    """Bits of a result and of the gradients of leaves."""
    result.backward(np.linspace(1.0, 2.0, result.size).reshape(result.shape))
    found = [leaf.grad for leaf in leaves if isinstance(leaf, tg.Tensor)]
    return [result.dtype, *(None if each is None else each.tobytes() for each in (result.data, *found))]


@grouped("name")
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("name", BINARY)
def test_binary_operators_agree_with_the_methods(name, other):
    (x, y), (u, v) = ((tg.tensor(X), other()) for _ in range(2))
    assert gradients(OPERATORS[name](x, y), x, y) == gradients(getattr(tg.Tensor, name)(u, v), u, v)
    (x, y), (u, v) = ((tg.tensor(X), other()) for _ in range(2))
    if isinstance(y, float | int) or type(y) is tg.Tensor:
        reflected = f"__r{name.strip('_')}__"
        found = (
            getattr(tg.Tensor, name)(v, u) if type(v) is tg.Tensor else getattr(tg.Tensor, reflected)(u, v)
        )
        assert gradients(OPERATORS[name](y, x), x, y) == gradients(found, u, v)


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("make", [lambda: tg.tensor(X), lambda: tg.tensor(X)[::2], lambda: tg.asarray(X)])
def test_unary_operators_agree_with_the_methods(name, make):
    operator = {"__neg__": lambda x: -x, "__pos__": lambda x: +x, "__abs__": abs}[name]
    x, u = make(), make()
    assert gradients(operator(x), x) == gradients(getattr(tg.Tensor, name)(u), u)
    integers = operator(tg.tensor([1, -2]))
    assert integers.constant
    assert integers.dtype == np.int64


def recorded(compute, *given):
    """What is recorded of arguments: its listing, slots in use, and the slots that stand for plain numbers."""
    tape = tg.jit(compute).tape(*given)
    return tape.text, int(tape.fields[SLOTS]), tape.weak


KEYS = [(0, 1), (-1, -2), (slice(None), 0), (1, slice(None)), (slice(1, -1), slice(None, 1)), (slice(2, None), None),
        (None, 1, slice(1)), (), (slice(None), slice(None, None, -1)), (0, ...), (np.int64(1), 0), (True, 0),
        ([0, 1], 0), (slice(4, 1), 1), (0, None, None), (slice(2**70), 1), (slice(0, 1.0), 0)]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("shape", [(6, 2), (4, 3, 2)])
def test_keys_of_several_parts_agree_with_the_method(key, shape):
    values = np.arange(float(np.prod(shape))).reshape(shape)
    x, u, failed = tg.tensor(values), tg.tensor(values), []
    for cut in (lambda: x[key], lambda: tg.Tensor.__getitem__(u, key)):
        try:
            found = cut()
        except (IndexError, TypeError) as error:
            failed.append(type(error))
    if failed:
        assert failed in ([IndexError] * 2, [TypeError] * 2)
        with pytest.raises(failed[0]):
            values[key]
        return
    found, expected = x[key], tg.Tensor.__getitem__(u, key)
    np.testing.assert_array_equal(found.data, values[key])
    assert found.data.strides == expected.data.strides
    assert hasattr(found, "_element") == hasattr(expected, "_element")
    assert gradients(found, x) == gradients(expected, u)
    cuts = (lambda x: x[key] * 2.0, lambda x: tg.Tensor.__getitem__(x, key) * 2.0)
    assert recorded(cuts[0], values) == recorded(cuts[1], values)


@grouped("key")
@pytest.mark.parametrize(
    "key",
    [0, -1, 5, True, np.int64(2), slice(None), slice(1, None), slice(None, -1), slice(-3, 2), slice(2, 100),
     slice(4, 1), slice(None, None, 2), slice(np.int64(1), 3), slice(2**70), (0,), (slice(1, 3),), ..., None, [0, 2],
     np.arange(2)],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("shape", [(6,), (6, 2), (6, 1, 2)])
def test_indexing_agrees_with_the_method(key, shape):
    values = np.arange(float(np.prod(shape))).reshape(shape)
    for make in (tg.tensor, tg.asarray, lambda a: tg.tensor(np.stack([a, a]))[1]):
        x, u = make(values), make(values)
        found, expected = x[key], tg.Tensor.__getitem__(u, key)
        assert (found.base is None) == (expected.base is None)
        assert found.base is None or found.base is (x if x.base is None else x.base)
        np.testing.assert_array_equal(found.data, values[key])
        assert found.data.strides == expected.data.strides
        assert gradients(found, x) == gradients(expected, u)
    if found.ndim == 0:
        assert type(np.asarray(found.detach())) is np.ndarray


@pytest.mark.parametrize("key", [6, -7, 2**70, "a", 1.5, slice("a"), (0, 0), (0,) * 80, (6,), (None,) * 64])
def test_keys_that_numpy_refuses(key):
    with pytest.raises((IndexError, TypeError)) as found:
        tg.tensor(X)[key]
    with pytest.raises(found.type):
        X[key]
    with pytest.raises(TypeError):
        tg.tensor(X).__getitem__()


def test_an_element_is_written_into_arrays_as_a_number():
    x = tg.tensor([1.0, 2.0])
    with tg.no_grad():
        assert isinstance(x[0].item(), float)
    assert type((x[0] * 1).data) is np.ndarray
    assert repr(x[0]) == "Tensor(1.)"


def test_views_follow_writes():
    x = tg.tensor(np.arange(6.0))
    y = x * 1
    view = y[1:4]
    y[...] = 7.0
    assert (view + 0.0).data.tolist() == [7.0] * 3
    assert view[1:].data.tolist() == [7.0] * 2
    (view * 3.0).backward()
    assert x.grad.tolist() == [0.0] * 6


def test_modes():
    x = tg.tensor([2.0])
    with tg.no_grad():
        assert (x * x).constant
        assert (1 - x).constant
        assert (-x).constant
        assert (x**2).constant
    assert not (x * x).constant
    with tg.detect_anomaly(), pytest.raises(tg.AnomalyError, match="divide"):
        x / 0.0
    entered, leave = threading.Event(), threading.Event()

    def stay():
        with tg.no_grad():
            entered.set()
            leave.wait()

    other = threading.Thread(target=stay)
    other.start()
    entered.wait()
    assert not (x * x).constant
    leave.set()
    other.join()


@grouped("name")
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("name", BINARY)
def test_recordings_of_binary_operators_agree_with_the_methods(name, other):
    method, reflected = (getattr(tg.Tensor, each) for each in (name, f"__r{name.strip('_')}__"))
    operator, y = OPERATORS[name], other()
    assert recorded(lambda x: operator(x, y), X) == recorded(lambda x: method(x, y), X)
    if type(y) in (float, int):
        assert recorded(lambda x: operator(y, x), X) == recorded(lambda x: reflected(x, y), X)


def test_recordings_of_other_operators_agree_with_the_methods():
    def by_operators(x):
        for _ in range(3):
            x = abs(-x[1:3]) + x[0] * x[-1] - x[:2] ** 2
        return +x

    def by_methods(x):
        cls = tg.Tensor
        for _ in range(3):
            first = cls.__abs__(cls.__neg__(cls.__getitem__(x, slice(1, 3))))
            second = cls.__mul__(cls.__getitem__(x, 0), cls.__getitem__(x, -1))
            both = cls.__add__(first, second)
            x = cls.__sub__(both, cls.__pow__(cls.__getitem__(x, slice(None, 2)), 2))
        return cls.__pos__(x)

    assert recorded(by_operators, X[3:]) == recorded(by_methods, X[3:])
    assert recorded(by_operators, X[3:].astype(np.float32)) == recorded(by_methods, X[3:].astype(np.float32))


def test_plain_numbers_of_recordings_stay_plain():
    """An argument that is a number is weak, and so is what operators make of it alone."""

    def by_operators(a, b, x):
        return ((-a + b * 2) / (1 - a) * x).sum(), a + b, x * a

    def by_methods(a, b, x):
        cls = tg.Tensor
        top = cls.__add__(cls.__neg__(a), cls.__mul__(b, 2))
        ratio = cls.__truediv__(top, cls.__rsub__(a, 1))
        return cls.__mul__(ratio, x).sum(), cls.__add__(a, b), cls.__mul__(x, a)

    given = 0.5, 3.0, np.arange(3, dtype=np.float32)
    *found, weak = recorded(by_operators, *given)
    assert (*found, weak) == recorded(by_methods, *given)
    assert len(weak) == 8
    assert tg.jit(by_operators)(*given)[2].dtype == np.float32


def test_tensors_of_other_tapes_in_a_recording():
    """Eager Tensors are captured, those of a recording around are inputs, those of one that has ended are refused."""
    outside, view = tg.tensor([2.0, 3.0]), tg.tensor(np.arange(4.0))[1:3]
    f = tg.jit(lambda x: x * outside + view[1] * view)
    assert f(np.ones(2)).tolist() == [4.0, 7.0]
    with tg.no_grad():
        outside[0] = 5.0
    assert f(np.ones(2)).tolist() == [7.0, 7.0]
    kept = []
    tg.jit(lambda x: kept.append(x * 2.0) or x[0])(np.ones(2))
    for use in (lambda: kept[0] * 2.0, lambda: kept[0] + outside, lambda: -kept[0]):
        with pytest.raises(tg.TracedValueError, match="has ended"):
            use()
    loop = tg.jit(lambda x: tg.scan(lambda c, _: (c * x[1] + x * x[0], None), x, length=2)[0])
    assert loop(np.array([2.0, 3.0])).tolist() == [34.0, 51.0]


def test_recordings_under_other_modes():
    def constant(x):
        with tg.no_grad():
            y = x * 2.0 + x[::-1][:2]
        return (x * y).sum()

    assert tg.grad(tg.jit(constant))(np.array([1.0, 2.0])).tolist() == [4.0, 5.0]

    @tg.jit
    def failing(x):
        with tg.detect_anomaly():
            return x / 0.0

    with pytest.raises(tg.AnomalyError, match="divide"):
        failing(np.ones(2))


def test_long_recordings_have_operators_in_c():
    """A process that computes nothing eagerly has them too, once a recording is long."""
    done = subprocess.run([sys.executable, "-c", LONG], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "True", "3.0"], done.stderr


LONG = """
import tapegrad as tg
from tapegrad.frontend.tensor import tensor

def f(x, n):
    for _ in range(n):
        x = x * 1.0
    return x

for n in (100, 2000):
    tg.jit(lambda x: f(x, n)).tape(3.0)
    print(tensor.handles[0] is not tensor._new_handle)
print(tg.jit(lambda x: f(x, 20))(3.0))
"""


FIRST = """
import itertools, os, sys
import numpy as np
import tapegrad as tg

X = np.linspace(0.5, 1.5, 10)
SUM_OF_SQUARES = lambda x: ((x[1:] - x[:-1] ** 2) ** 2).sum()

def large():
    y = tg.tensor(np.ones(10**6))
    (y * y).sum().backward()

FIRST = {
    "nothing": lambda: None,
    "jit": lambda: tg.grad(tg.jit(SUM_OF_SQUARES))(X),
    "grad": lambda: tg.grad(SUM_OF_SQUARES)(X),
    "vmap": lambda: tg.vmap(tg.grad(SUM_OF_SQUARES))(np.ones((3, 10))),
    "compile": lambda: tg.compile(SUM_OF_SQUARES, X),
    "hessian": lambda: tg.hessian(SUM_OF_SQUARES)(X),
    "minimize": lambda: tg.optimize.minimize(SUM_OF_SQUARES, X),
    "functions": lambda: tg.sin(tg.tensor(X)).backward(X),
    "large": large,
}

def calls(compute):
    found = []
    sys.setprofile(lambda frame, event, argument: found.append(event) if event == "call" else None)
    compute()
    sys.setprofile(None)
    return len(found) - 1  # without that of the function itself

def loss(x):
    return x[1:] * x[:-1] - x[0] * 2.0

for names in itertools.product(sys.argv[2:] or FIRST, repeat=int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        try:
            for name in names:
                FIRST[name]()
            x = tg.tensor(X)
            loss(x)
            if calls(lambda: loss(x)) != 1:
                print(*names)
            sys.stdout.flush()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize(
    "arguments", [["1", "vmap"], pytest.param(["1"], marks=not_daily), pytest.param(["2"], marks=not_daily)]
)
def test_operators_are_in_c_whatever_came_first(arguments):
    """A process whose first operator was one of a recording has them, too."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FIRST, *arguments], capture_output=True, text=True
    )
    assert done.stdout.split("\n") == ["done", ""], done.stderr


def calls_of_python(compute):
    """Names of the functions of Python that a call enters."""
    entered = []
    sys.setprofile(lambda frame, event, _: entered.append(frame.f_code.co_name) if event == "call" else None)
    try:
        compute()
    finally:
        sys.setprofile(None)
    return entered


@pytest.mark.parametrize(
    "compute",
    [lambda x, y: tg.sin(x), lambda x, y: tg.add(x, y), lambda x, y: tg.maximum(x, 0.5)],
    ids=["one operand", "two operands", "a number"],
)
def test_functions_compute_in_c(compute):
    x, y = tg.tensor([0.5, 2.0]), tg.tensor([1.0, 3.0])
    expected, kept = compute(x, y).data, []  # or the end of a Tensor may be Python's, too
    assert calls_of_python(lambda: kept.append(compute(x, y))) == ["<lambda>", "<lambda>", "function"]
    assert np.array_equal(compute(x, y).data, expected)
    compute(x, y).backward(np.ones(2))
    assert np.all(np.isfinite(x.grad))
    with tg.no_grad():
        assert compute(x, y).constant
    recorded = tg.jit(lambda x: compute(x, x))(np.array([0.5, 2.0]))
    np.testing.assert_array_equal(recorded, compute(x, x).data)


def test_functions_of_plain_numbers_are_no_plain_numbers():
    """Of float32 and the sine of a recorded float the sum is float64, as in eager code; of the float itself float32."""
    single = np.ones(2, np.float32)
    for compute in (lambda a, x: tg.sin(a) + x, lambda a, x: tg.add(a, 1.0) + x):
        assert tg.jit(compute)(0.5, single).dtype == np.float64
    assert tg.jit(lambda a, x: (a + 1.0) + x)(0.5, single).dtype == np.float32


def test_recordings_see_operators():
    f = tg.jit(lambda x: ((x[1:] * 2.0 - x[:-1]) ** 2 / (1 + abs(-x[1:]))).sum())
    for values in (np.arange(4.0), np.ones(4)):
        a = values[1:] * 2.0 - values[:-1]
        assert f(values) == np.sum(a**2 / (1 + abs(-values[1:])))


def test_an_integer_beyond_all_floats():
    x = tg.tensor([2.0])
    assert (x**-1.0).item() == 0.5  # compiled, so that operators of C may call it
    for operator in OPERATORS.values():
        with pytest.raises(OverflowError):
            operator(x, 10**400)
        with pytest.raises(OverflowError):
            operator(10**400, x)


def test_a_modulus_is_refused():
    x = tg.tensor([2.0])
    for given in ((x, 2, 3), (2, x, 3), (2, 3, x)):
        with pytest.raises(TypeError):
            pow(*given)


class Other:
    def __radd__(self, x):
        return "radd", x

    def __add__(self, x):
        return "add", x

    def __rpow__(self, x):
        return "rpow", x


def test_classes_with_operators_of_their_own():
    x = tg.tensor([2.0])
    assert (Other() + x)[0] == "add"
    for operator in (lambda: x + object(), lambda: object() + x, lambda: x - "a", lambda: x ** object()):
        with pytest.raises(TypeError):
            operator()
    assert np.ones(1).__add__(x) is not None
    assert isinstance(np.ones(1) + x, tg.Tensor)
    assert isinstance(np.float64(1) - x, tg.Tensor)


def test_a_method_that_is_replaced_is_called(monkeypatch):
    class Marked(tg.Tensor):
        __slots__ = ()

        def __add__(self, other):
            return "marked"

        def __getitem__(self, key):
            return key

    x, marked = tg.tensor([1.0]), object.__new__(Marked)
    assert marked + x == "marked"
    assert marked[1:] == slice(1, None)
    assert x + 1.0 == 2.0
    assert type(marked).__sub__ is tg.Tensor.__sub__


# --- lifetime ----------------------------------------------------------------------------------------------------


def test_memory_goes_with_the_tensor():
    x = tg.tensor(np.ones(1000))
    with leaving_nothing():
        for _ in range(3):
            y = (1 - x[1:]) * x[:-1] ** 2 / 3.0 + abs(-x[1:])
            y.sum().backward()
            del y
    with leaving_nothing():
        kept = np.ones(5)
        alive = weakref.ref(kept)
        view = tg.asarray(kept)[1:] + 1.0
        del kept
        assert alive() is not None
        del view
        gc.collect()
        assert alive() is None


def test_an_exception_passes_finalisers():
    def fail():
        kept = tg.asarray(np.ones(5))
        both = [kept * 2.0, kept[1:]]
        raise ValueError(len(both))

    with pytest.raises(ValueError, match="2") as caught:
        fail()
    caught.value.__traceback__ = None
    with leaving_nothing():
        with pytest.raises(ValueError, match="2") as caught:
            fail()
        del caught


def test_cycles_are_collected():
    with leaving_nothing():
        x = tg.tensor([1.0]) * 2.0
        x.register_hook(lambda gradient: None)
        ring = [x]
        ring.append(ring)
        del x, ring
        gc.collect()


def test_arrays_outlive_their_tensors():
    x = tg.tensor(np.arange(24.0).reshape(2, 3, 4))
    y = x * 2.0
    arrays = [y.data, y[1].data, y[:, 1].data, y.T.data, y[0, 0, 0].data, y[:0].data, x.T.data]
    expected = [array.copy() for array in arrays]
    base = arrays[0].base.base
    assert type(base).__name__ == "PyCapsule"
    y.sum().backward()
    grad = x.grad
    del x, y, base
    gc.collect()
    noise = [tg.ones((2, 3, 4)) * 5.0 for _ in range(100)]
    for array, values in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(array, values)
        assert array.flags.writeable
        assert array.flags.aligned
    np.testing.assert_array_equal(grad, 2.0)
    assert noise


@pytest.mark.parametrize("shape", [(), (6,), (2, 3), (1, 2, 3)])
def test_arrays_are_made_read_only_and_writeable_again(shape):
    x = tg.tensor(np.ones(shape))
    (x * 2.0).backward()
    for array in (x.data, x.grad, (x * 2.0).data):
        array.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 3.0
        array.flags.writeable = True
        array[...] = 3.0


def test_arrays_that_are_read_only():
    y = tg.broadcast_to(tg.tensor([1.0]) * 2.0, (3,))
    assert not y.data.flags.writeable
    with pytest.raises(ValueError, match="WRITEABLE"):
        y.data.flags.writeable = True
    assert y.data.tolist() == [2.0] * 3


def test_many_threads():
    x = tg.tensor(np.arange(10.0))
    results = []

    def work():
        for _ in range(300):
            y = (1 - x[1:]) * x[:-1] ** 2
            assert y.data[0] == 0.0
        results.append(True)

    threads = [threading.Thread(target=work) for _ in range(4)]
    with leaving_nothing():
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert len(results) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_computes():
    x = tg.tensor([1.0, 2.0])
    y = x * 3.0
    child = os.fork()
    if child == 0:
        try:
            z = (y[1:] ** 2).sum()
            z.backward()
            os._exit(0 if x.grad.tolist() == [0.0, 36.0] else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert (y + 1.0).data.tolist() == [4.0, 7.0]


AT_EXIT = """
import sys, threading, atexit
import numpy as np
import tapegrad as tg

x = tg.tensor(np.arange(5.0))
kept = [x * 2.0, x[1:], 1 - x, (x * x).sum(), tg.asarray(np.ones(3)) + 1.0]
kept[3].backward(retain_graph=True)
arrays = [each.data for each in kept] + [x.grad]
sys.kept = [kept, arrays]  # lives until the very end
ring = [kept]
ring.append(ring)

class Late:
    def __init__(self):
        self.x = x * 1.0
    def __del__(self):
        del self.x

late = Late()
sys.late = Late()
atexit.register(lambda: (x * 2.0 + x[0]).data)
threading.Thread(target=lambda: x * x).start()
"""


def test_interpreter_exit():
    done = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True, check=False)
    noise = [line for line in done.stderr.splitlines() if not line.startswith("tapegrad: ")]
    assert (done.returncode, noise) == (0, [])


# --- other layouts -----------------------------------------------------------------------------------------------


def test_unknown_layouts_are_left_alone(monkeypatch):
    class Handle:
        __slots__ = ("_array", "_base", "_constant", "_element", "_slot", "_tape", "_version")
        __add__ = __sub__ = __getitem__ = lambda self, other: other

        def __del__(self):
            pass

    operators = handle_slots.Operators({"__add__": 1}, {}, {})
    write, module = handle_slots.write_handle_slots, native_slots._FUNCTIONS
    objects = dict.fromkeys(("thread", "entered", "attachments", "stale"))
    calls = native_slots._calls

    def addresses():
        return [type_slots.SLOTS[name].function(Handle) for name in ("__add__", "__del__", "__getitem__")]

    before = addresses()
    monkeypatch.setitem(type_slots.SLOTS, "__add__", type_slots.SLOTS["__add__"]._replace(position=1))
    assert write(Handle, EAGER, operators, module, calls, Mode, **objects) is None
    monkeypatch.undo()
    for name in ("_FIELDS", "_MODE_FIELDS", "_TAPE_FIELDS"):
        monkeypatch.setattr(handle_slots, name, getattr(handle_slots, name)[::-1])
        assert write(Handle, EAGER, operators, module, calls, Mode, **objects) is None
        monkeypatch.undo()
    assert addresses() == before


def test_slots_are_found_by_python():
    assert type_slots.are_found(tg.Tensor, tuple(type_slots.SLOTS))
    for first, second in itertools.combinations(type_slots.SLOTS.values(), 2):
        assert first.number != second.number
        assert first.field(tg.Tensor).value != second.field(tg.Tensor).value

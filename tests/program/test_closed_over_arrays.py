"""Closed-over arrays: read where they lie as operands, guarded where plain Python or NumPy uses their contents."""

import contextlib
import functools
import types
import weakref

import numpy as np
import pytest

import tapegrad as tg

X = np.array([1.0, 0.5])
SECOND = True


class Data:
    def __init__(self):
        self.t, self.y = np.linspace(0.0, 1.0, 5), np.ones(5)
        self.table = {"t": np.linspace(0.0, 1.0, 5), "y": np.ones(5)}
        self.pairs = [(np.linspace(0.0, 1.0, 3), np.ones(3)), (np.linspace(1.0, 2.0, 3), np.zeros(3))]
        self.rows = np.arange(10.0).reshape(5, 2)
        self.both = (self.t, self.y)

    @property
    def times(self):
        return self.t


def model(p, t):
    return p[0] * tg.exp(-p[1] * t)


def loop(p, d):
    total = 0.0
    for t, y in d.pairs:
        total = total + tg.sum((model(p, t) - y) ** 2)
    return total / len(d.t)


def aliases(p, d):
    t, y = d.t, d.y
    residual = (model(p, t) - y) / np.sqrt(y.size)
    return tg.sum(residual * residual) / t.shape[0]


def inner_function(p, d):
    def residual(t, y):
        return model(p, t) - y

    return tg.sum(residual(d.t, d.y) ** 2)


def lambda_in_a_variable(p, d):
    scale = lambda a: p[0] * a  # noqa: E731
    return tg.sum(scale(d.t)) + tg.sum(scale(d.y))


def method_in_a_variable(p, d):
    terms = []
    add = terms.append
    add(tg.sum(p[0] * d.t))
    add(tg.sum(p[1] * d.y))
    return terms[0] + terms[1]


def generator_function(p, d):
    def pairs():
        yield d.t, d.y

    return sum(tg.sum(p[0] * a - b) for a, b in pairs())


OPERANDS = {
    "inner function": inner_function,
    "lambda in a variable": lambda_in_a_variable,
    "method in a variable": method_in_a_variable,
    "inner generator": generator_function,
    "attribute": lambda p, d: tg.sum((model(p, d.t) - d.y) ** 2),
    "property": lambda p, d: tg.sum(model(p, d.times)),
    "entry of a dict": lambda p, d: tg.sum(model(p, d.table["t"]) - d.table["y"]),
    "loop": loop,
    "generator": lambda p, d: sum(tg.sum(model(p, t) - y) for t, y in d.pairs),
    "list of the code's own": lambda p, d: tg.sum(tg.stack([tg.sum(p[0] * a) for a in [d.t, d.y]])),
    "zip": lambda p, d: sum(tg.sum(p[0] * a - b) for a, b in zip([d.t, d.y], [d.y, d.t], strict=True)),
    "aliases": aliases,
    "matmul": lambda p, d: tg.sum((d.rows @ p - d.y) ** 2) / len(d.y),
    "views": lambda p, d: tg.sum(p[0] * d.y[1:] - d.t[:-1]) + tg.sum(p @ d.rows.T) + tg.sum(p[0] * d.rows[:, 0]),
    "reshaped": lambda p, d: tg.sum(p[0] * d.rows.reshape(-1)),
    "rows": lambda p, d: sum(tg.sum(row * p) for row in d.rows),
    "NumPy's names": lambda p, d: np.sum(p[0] * np.asarray(d.y)),
    "looks": lambda p, d: tg.sum(p[0] * tg.ones(d.y.shape)) * d.y.ndim * len(d.y),
}  # fmt: skip


HELD = types.SimpleNamespace()  # what a global variable leads to


@contextlib.contextmanager
def lent(array):
    yield array


def through_with(p, d):
    with lent(d.y) as array:
        return tg.sum(p) * array[0]


class Holder:
    def __enter__(self):
        return HELD.data.y

    def __exit__(self, *exception):
        pass

    def __add__(self, other):
        return HELD.data.y

    def shown(self):
        return HELD.data.y


def through_enter(p, d):
    with Holder() as array:
        return tg.sum(p) * array[0]


def caught(p, d):
    try:
        raise LookupError(d.y)
    except LookupError as error:
        return tg.sum(p) * error.args[0][0]


def reassigned(p, d):
    a, b = d.y, d.t
    c, b = a, p
    return tg.sum(b) * c[0]


@functools.lru_cache(maxsize=1)
def remembered(d):
    return d.y


def in_a_block(p, d):
    with contextlib.nullcontext(d.y) as y:
        assert len(y) == 5
    return tg.sum(p) * y.max()


def read_by(kind):
    """A function that reads an element by functions and methods that it makes itself, and keeps in variables."""

    def function(p, d):
        def first(array=d.y):
            return array[0]

        def deep(k):
            return d.y[0] if k == 0 else deep(k - 1)

        def each():
            for y in [d.y]:
                yield y[0]

        def decorated(inner):
            def outer(*args):
                return inner(*args)

            return outer

        @decorated
        def through(array):
            return array[0]

        def passed(inner, array):
            return inner(array)

        class Own:
            held = d.y

            def read(self):
                return self.held[0]

        value, get, pop, rows = 0.0, d.table.get, [d.y].pop, {}

        def assign():
            nonlocal value
            value = d.y[0]

        assign()
        put, own, take = rows.setdefault, Own(), lambda array: array[0]
        put("y", d.y)
        read = own.read
        ways = {
            "default": lambda: first(),
            "recursion": lambda: deep(2),
            "generator": lambda: next(each()),
            "decorator": lambda: through(d.y),
            "function passed on": lambda: passed(take, d.y),
            "nonlocal variable": lambda: value,
            "method of a dict": lambda: rows["y"][0] + 0.0 * get("y")[0],
            "method of a list": lambda: pop()[0],
            "method of a class": lambda: read(),
            "called by map": lambda: next(map(take, [d.y])),
            "partial": lambda: functools.partial(take, d.y)(),
            "kept in a list": lambda: [take][0](d.y),
            "ufunc's method": lambda: np.add.reduce(d.y),
        }
        return tg.sum(p) * ways[kind]()

    return function


MADE = (
    "default", "recursion", "generator", "decorator", "function passed on", "nonlocal variable", "method of a dict",
    "method of a list", "method of a class", "called by map", "partial", "kept in a list", "ufunc's method",
)  # fmt: skip


def one_way(p, d):
    """The same with no other way beside, so that nothing else makes its contents compared."""

    def take(array):
        return array[0]

    return tg.sum(p) * take(d.y)


def one_method(p, d):
    read = d.y.item
    return tg.sum(p) * read(0)


def one_of_its_own(p, d):
    kept = []
    add = kept.append
    add(d.y)
    return tg.sum(p) * kept[0][0]


def one_made(p, d):
    def maker(array):
        def inner():
            return array[0]

        return inner

    first, second = maker(d.t), maker(d.y)
    return tg.sum(p) * (second() + 0.0 * first())


def one_of_two(p, d):
    """Two receivers of one method, one after the other in the same variable."""
    total = 0.0
    for array in (d.t, d.y):
        read = array.item
        total = total + read(0)
    return tg.sum(p) * total


PLAIN = {
    **{f"made inside: {kind}": read_by(kind) for kind in MADE},
    "inner function": one_way,
    "method in a variable": one_method,
    "method of its own list": one_of_its_own,
    "function that another one makes": one_made,
    "methods of two arrays": one_of_two,
    "context manager": through_with,
    "__enter__": through_enter,
    "exception": caught,
    "reassigned": reassigned,
    "operator of an object": lambda p, d: tg.sum(p) * (Holder() + 1)[0],
    "method of an object that is made": lambda p, d: tg.sum(p) * Holder().shown()[0],
    "remembered": lambda p, d: tg.sum(p) * remembered(d)[0],
    "called by a library": lambda p, d: (
        tg.sum(p) * max([0, 1], key=lambda k: k * d.y[0]) * sorted([d.y], key=len)[0][0]
    ),
    "reduced": lambda p, d: tg.sum(p) * functools.reduce(lambda a, b: d.y, [0, 1])[0],
    "weak proxy": lambda p, d: tg.sum(p) * HELD.proxy.y[0] + (0.0 if HELD else HELD.dead),
    "argument by name": lambda p, d: tg.sum(p) * np.sum(a=d.y),
    "comprehension": lambda p, d: tg.sum(p) * [a for a in [d.y]][0][0],  # noqa: C416, RUF015
    "element": lambda p, d: tg.sum(p) * d.y[0],
    "element beside": lambda p, d: tg.sum(p[0] * d.y) * d.y[0],
    "branch": lambda p, d: tg.sum(p) if d.y[0] > 1 else tg.sum(p * p),
    "float": lambda p, d: tg.sum(p) * float(d.y[0]),
    "item": lambda p, d: tg.sum(p) * d.y.item(0),
    "sum beside": lambda p, d: tg.sum(p[0] * d.y) / d.y.sum(),
    "ufunc": lambda p, d: tg.sum(p[0] * np.exp(d.y)),
    "product": lambda p, d: tg.sum(p[0] * (d.y * 2.0)),
    "product, wrong order": lambda p, d: tg.sum(d.y * 2.0 * p[0] + d.y),
    "linalg": lambda p, d: tg.sum(p) * np.linalg.norm(d.y) + tg.sum(p[0] * d.y),
    "helper": lambda p, d: tg.sum(p) * (lambda a: a.max())(d.y),
    "elements one by one": lambda p, d: sum(p[0] * each for each in d.y),
    "unpacked": lambda p, d: (lambda a, *rest: p[0] * a)(*d.y),
    "formatted": lambda p, d: tg.sum(p) * float(f"{d.y[0]}"),
    "copied": lambda p, d: tg.sum(p[0] * d.y.copy()),
    "list": lambda p, d: tg.sum(p[0] * np.array(d.y.tolist())),
    "index": lambda p, d: tg.sum(p[d.y.astype(int) % 2]),
    "stacked": lambda p, d: tg.sum(p[0] * [d.y, d.y]),
    "through a Tensor": lambda p, d: tg.sum(p) * float(tg.sum(tg.asarray(d.y, constant=True))),
    "element of a Tensor": lambda p, d: tg.sum(p) * tg.asarray(d.y)[0].item(),
    "branch on a Tensor": lambda p, d: tg.sum(p) if tg.asarray(d.y)[0] > 1 else tg.sum(p * p),
    "buffer": lambda p, d: tg.sum(p[0] * np.frombuffer(memoryview(d.y))),
    "windows": lambda p, d: tg.sum(np.lib.stride_tricks.sliding_window_view(d.y, 2) @ p),
    "broadcast": lambda p, d: tg.sum(np.broadcast_to(d.y[:1], (2,)) * p),
    "strided": lambda p, d: tg.sum(np.lib.stride_tricks.as_strided(d.y, (2,), (0,)) * p),
    "mask": lambda p, d: tg.sum((p[0] * d.t)[d.y > 1]),
    "one of two by a condition": lambda p, d: tg.sum(p) * np.sum(d.both[1 if SECOND else 0]),
    "one of its own by a condition": lambda p, d: (
        tg.sum(p) * np.sum([(d.t, d.y)[1 if SECOND else 0] for _ in p])
    ),
    "result of a call with a list": lambda p, d: tg.sum(p) * np.sum((lambda *rest: d.y)(*[1])),
    "result of a call with a dict": lambda p, d: tg.sum(p) * np.sum((lambda **rest: d.y)(k=1)),
    "in a block": lambda p, d: in_a_block(p, d),
    "method of a helper": lambda p, d: tg.sum(p) * types.SimpleNamespace(a=d.y).a[0],
}


def recorded(function):
    """A replayed function of the parameters, and of how many recordings it consists."""
    data = HELD.data = Data()
    HELD.proxy, HELD.dead = weakref.proxy(data), weakref.proxy(Data())
    replayed = tg.jit(lambda p: function(p, data))
    return data, replayed, lambda: len(list(replayed.traces))


@pytest.mark.parametrize("name", OPERANDS)
def test_operands_are_read_where_they_lie(name):
    function = OPERANDS[name]
    data, replayed, count = recorded(function)
    for step in range(3):
        np.testing.assert_allclose(replayed(X), tg.grad(function, 0) and value(function, data), rtol=1e-13)
        for held in (data.t, data.y, data.rows, data.table["t"], data.pairs[0][0]):
            held[0] += 0.5 * step
    assert count() == 1


@pytest.mark.parametrize("name", PLAIN)
def test_contents_used_by_plain_code_are_guarded(name):
    function = PLAIN[name]
    data, replayed, count = recorded(function)
    for number in (1.0, 2.0, 1.0, 3.0):
        data.y[0] = number
        np.testing.assert_allclose(replayed(X), value(function, data), rtol=1e-13)
    assert count() <= 3
    seen = count()
    for number in (1.0, 2.0, 3.0):
        data.y[0] = number
        replayed(X)
    assert count() == seen


class Model:
    def __init__(self):
        self.y = np.ones(2)

    def __call__(self, p):
        return tg.sum(p * self.y) * self.y.max()

    def operand(self, p):
        return tg.sum(p * self.y)

    @staticmethod
    def beside(model, p):
        return tg.sum(p * model.y) * model.y[0]

    def argument(self, p, model):
        return tg.sum(p * model.y) * model.y[0]


ROOTS = {
    "method": lambda m: (m.__call__, ()),
    "callable object": lambda m: (m, ()),
    "partial": lambda m: (functools.partial(Model.beside, m), ()),
    "argument": lambda m: (m.argument, (m,)),
    "transform": lambda m: (lambda p: tg.value_and_grad(tg.jit(m))(p)[0], ()),
}


@pytest.mark.parametrize("name", ROOTS)
def test_what_a_function_is_bound_to_is_followed(name):
    model = Model()
    function, rest = ROOTS[name](model)
    replayed = tg.jit(function)
    for number in (1.0, 2.0, 1.0):
        model.y[0] = number
        expected = np.sum(X * model.y) * (model.y[0] if name in ("partial", "argument") else model.y.max())
        assert replayed(X, *rest) == pytest.approx(expected)
    operand = tg.jit(model.operand)
    for number in (1.0, 2.0):
        model.y[0] = number
        assert operand(X) == np.sum(X * model.y)
    assert len(list(operand.traces)) == 1


def value(function, data):
    found = function(tg.tensor(X), data)
    return found.data if isinstance(found, tg.Tensor) else found


def set_shape(array):
    array.shape = (1, 2)


def set_dtype(array):
    array.dtype = np.int64


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("change", [set_shape, set_dtype])
@pytest.mark.parametrize(
    "function", [lambda p, a: tg.sum(tg.sin(p * a)), lambda p, a: tg.sum(p) * a.ndim + a.itemsize]
)
def test_arrays_changed_in_place(change, function):
    held = np.ones((2, 1)) if change is set_shape else np.ones(2)
    replayed = tg.value_and_grad(tg.jit(lambda p: function(p, held)))
    for _ in range(2):
        expected = tg.value_and_grad(lambda p: function(p, held))(X)
        np.testing.assert_allclose(replayed(X)[0], expected[0])
        change(held)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, bool])
def test_closed_over_tensors_of_integers(dtype):
    held = tg.tensor(np.array([1, 0]), dtype=dtype)
    replayed = tg.grad(tg.jit(lambda p: tg.sum(p * held)))
    assert replayed(X).tolist() == [1, 0]
    held.data[1] = 1
    assert replayed(X).tolist() == [1, 1]


def test_recorded_function_of_a_closed_over_array():
    held, inner = np.ones(2), tg.jit(tg.sin)
    replayed = tg.jit(lambda p: tg.sum(p * inner(held)))
    for number in (1.0, 2.0):
        held[:] = number
        assert replayed(X) == pytest.approx(1.5 * np.sin(number))


def test_contents_of_closed_over_tensors():
    held = tg.tensor([1.0, 2.0])
    replayed = tg.jit(
        lambda p: tg.sum(p * held) + tg.sum(p) * held[0].item() + np.asarray(held.detach()).sum()
    )
    for number in (1.0, 5.0, 1.0):
        held[0] = number
        assert replayed(X) == pytest.approx(number + 1 + 1.5 * number + number + 2)


@pytest.mark.parametrize("made", [tg.grad, tg.value_and_grad, tg.jacobian, tg.hessian, tg.hvp, tg.checkpoint])
def test_recordings_of_other_functions_are_no_contents(made):
    """What a derivative keeps of its own, memory of recordings among it, is not what a function around it reads."""
    held = np.array([1.0, 2.0])
    derivative = made(tg.jit(lambda p: tg.sum(p * p * held) * held[0]))
    vectors = (X,) if made is tg.hvp else ()

    def around(p):
        result = derivative(p, *vectors)
        return tg.sum(result[0] if isinstance(result, tuple) else result)

    before = float(around(X))
    replayed = tg.jit(around)
    assert str(replayed.tape(X)).count("guard(") <= 8  # how `held` and the vector lie, and their contents
    assert float(replayed(X)) == pytest.approx(before)
    held[0] = 3.0
    assert float(replayed(X)) == pytest.approx(float(around(X)))
    assert float(replayed(X)) != pytest.approx(before)

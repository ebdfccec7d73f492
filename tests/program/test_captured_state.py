"""What a function sees beside its arguments is watched: a replay after any change there is the function run anew."""

# ruff: noqa: B008 - defaults that are made once are what is tested

import abc
import array
import collections
import contextvars
import copy
import ctypes
import dataclasses
import enum
import fractions
import functools
import importlib.util
import itertools
import multiprocessing
import operator
import os
import pathlib
import string
import sys
import threading
import types
import weakref
from os import getenv

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.program.captured import walk

FACTOR = 2.0
CASES = {}


def case(make):
    """A function that makes a function of x, and what changes something that it sees."""
    CASES[make.__name__] = make
    return make


class Rows(list):
    pass


class Table(dict):
    pass


Pair = collections.namedtuple("Pair", "first second")


class Base:
    weight = 2.0

    def scale(self):
        return 2.0

    def hidden(self):
        return self.scale()


class Between(Base):
    pass


class Model(Between):
    def __init__(self):
        self.k = 2.0
        self.parts = [types.SimpleNamespace(k=2.0)]

    def __call__(self, x):
        return x * self.k

    def __matmul__(self, x):
        return x * self.k

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__["k"]

    def through_super(self, x):
        return x * super().scale()

    def hidden(self):
        return super().hidden()

    def through_two(self, x):
        return x * self.hidden()

    @classmethod
    def of_class(cls, x):
        return x * cls.weight

    @staticmethod
    def alone(x):
        return x * FACTOR

    @property
    def shown(self):
        return self.k

    @functools.cached_property
    def kept(self):
        return self.k


class Slotted:
    __slots__ = ("__hidden", "k")

    def __init__(self):
        self.k = self.__hidden = 2.0

    def apply(self, x):
        return x * self.__hidden

    def hide(self, value):
        self.__hidden = value


@dataclasses.dataclass
class Record:
    k: float = 2.0


class Size(enum.Enum):
    SMALL = 2.0


def container(name, value, read, change):
    """A case of a container that is closed over."""

    def make():
        held = value()
        return (lambda x: x * read(held)), lambda: change(held)

    make.__name__ = name
    case(make)


def put(key):
    return lambda held: held.__setitem__(key, 3.0)


def installed(cls):
    """Make a class one of an installed package's."""
    module = types.ModuleType("tapegrad_test_package")
    module.__file__ = "/lib/site-packages/tapegrad_test_package/__init__.py"
    sys.modules[module.__name__] = module
    cls.__module__ = module.__name__
    return cls


@installed
class Column:
    """What NumPy converts, in slots that are not looked into."""

    __slots__ = ("_array", "_step")

    def __init__(self, array, step=1):
        self._array, self._step = array, step

    def __array__(self, dtype=None, copy=None):
        return self._array[:: self._step]

    def put(self, name, value):
        setattr(self, name, value)


@installed
class Fitted:
    """What is called, and made of other objects of its package."""

    def __init__(self):
        self.inner = types.SimpleNamespace(k=1.0)
        self.column, self.table, self.other = Column(np.array([2.0])), [1.0], Fitted.__new__(Fitted)
        self.other.k = 1.0

    def __call__(self):
        return np.asarray(self.column)[0] * self.table[0] * self.inner.k * self.other.k


FIRST, NAMED = operator.itemgetter(0), operator.itemgetter("k")
container("OrderedDict", lambda: collections.OrderedDict(k=2.0), NAMED, put("k"))
container("defaultdict", lambda: collections.defaultdict(float, k=2.0), NAMED, put("k"))
container("UserDict", lambda: collections.UserDict(k=2.0), NAMED, put("k"))
container(
    "ChainMap", lambda: collections.ChainMap({}, {"k": 2.0}), NAMED, lambda held: held.maps[1].update(k=3.0)
)
container("subclass of dict", lambda: Table(k=2.0), NAMED, put("k"))
container(
    "dict in a dict",
    lambda: {"a": {"k": 2.0}},
    lambda held: held["a"]["k"],
    lambda held: held["a"].update(k=3.0),
)
SECOND = lambda held: np.asarray(held)[1]  # noqa: E731
for layout, step in (("contiguous", 1), ("strided", 2)):
    column = functools.partial(Column, step=step)
    container(
        f"{layout} array of a package",
        functools.partial(lambda make: make(np.array([1.0, 2.0, 2.0])), column),
        SECOND,
        lambda held: held._array.__setitem__(slice(None), 3.0),
    )
    container(
        f"{layout} array that a package exchanges",
        functools.partial(lambda make: make(np.array([1.0, 2.0, 2.0])), column),
        SECOND,
        lambda held: held.put("_array", np.array([1.0, 3.0, 3.0])),
    )
for name, change in {
    "number": lambda held: setattr(held.inner, "k", 3.0),
    "array": lambda held: held.column.put("_array", np.array([3.0])),
    "list": lambda held: held.table.__setitem__(0, 3.0),
    "object": lambda held: setattr(held.other, "k", 3.0),
    "class": lambda held: setattr(held, "table", [5.0]),
}.items():
    container(f"{name} in a package's object", Fitted, lambda held: held(), change)
container("deque", lambda: collections.deque([2.0]), FIRST, put(0))
container("subclass of list", lambda: Rows([2.0]), FIRST, put(0))
container(
    "list in a namedtuple",
    lambda: Pair([2.0], 1),
    lambda held: held.first[0],
    lambda held: held.first.__setitem__(0, 3.0),
)
container("set", lambda: {2.0}, max, lambda held: held.add(3.0))
container("length", lambda: [1, 2], len, lambda held: held.append(3))
container(
    "order of keys",
    lambda: {"a": 2.0, "b": 3.0},
    lambda held: next(iter(held.values())),
    lambda held: held.update(a=held.pop("a")),
)
container(
    "an equal key of another type",
    lambda: {1: 2.0},
    lambda held: float(isinstance(next(iter(held)), bool)),
    lambda held: (held.clear(), held.update({True: 2.0})),
)
container(
    "True for 1",
    lambda: [1],
    lambda held: 2.0 + isinstance(held[0], bool),
    lambda held: held.__setitem__(0, True),
)
container("slots", Slotted, lambda held: held.k, lambda held: setattr(held, "k", 3.0))
container("dataclass", Record, lambda held: held.k, lambda held: setattr(held, "k", 3.0))
container("dict of an instance", Model, lambda held: held.k, lambda held: held.__dict__.update(k=3.0))
container(
    "another dict of an instance",
    Model,
    lambda held: held.k,
    lambda held: setattr(held, "__dict__", {"k": 3.0}),
)
container(
    "class of an instance",
    Base,
    lambda held: held.weight,
    lambda held: setattr(held, "__class__", type("Other", (Base,), {"weight": 3.0})),
)
container("instance hides class", Model, lambda held: held.weight, lambda held: setattr(held, "weight", 3.0))
container("property", Model, lambda held: held.shown, lambda held: setattr(held, "k", 3.0))
container("cached property", Model, lambda held: held.kept, lambda held: held.__dict__.update(kept=3.0))
container("__getattr__", Model, lambda held: held.other, lambda held: setattr(held, "k", 3.0))
container("getattr with text", Model, lambda held: getattr(held, "k"), lambda held: setattr(held, "k", 3.0))  # noqa: B009
container(
    "getattr with a computed name",
    Model,
    lambda held: getattr(held, "".join("k")),
    lambda held: setattr(held, "k", 3.0),
)
container("vars", Record, lambda held: sum(vars(held).values()), lambda held: setattr(held, "k", 3.0))
container(
    "hasattr",
    Record,
    lambda held: 3.0 if hasattr(held, "extra") else 2.0,
    lambda held: setattr(held, "extra", 1),
)
container("attrgetter", Model, operator.attrgetter("shown"), lambda held: setattr(held, "k", 3.0))
container(
    "object in an object", Model, lambda held: held.parts[0].k, lambda held: setattr(held.parts[0], "k", 3.0)
)
container(
    "objects in a list", lambda: [Model()], lambda held: held[0].k, lambda held: setattr(held[0], "k", 3.0)
)
container(
    "objects in a dict",
    lambda: {"m": Model()},
    lambda held: held["m"].k,
    lambda held: setattr(held["m"], "k", 3.0),
)
container(
    "objects in an object array",
    lambda: np.array([Record(), None]),
    lambda held: held[0].k,
    lambda held: setattr(held[0], "k", 3.0),
)
container(
    "weak reference",
    lambda: [weakref.ref(m := Model()), m],
    lambda held: held[0]().k,
    lambda held: setattr(held[1], "k", 3.0),
)
container(
    "attribute of a function",
    lambda: types.FunctionType((lambda: 0).__code__, {}),
    lambda held: getattr(held, "k", 2.0),
    lambda held: setattr(held, "k", 3.0),
)
container("bytearray", lambda: bytearray(b"\2"), FIRST, lambda held: held.__setitem__(0, 3))
container("array.array", lambda: array.array("d", [2.0]), FIRST, put(0))
container("memoryview", lambda: memoryview(array.array("d", [2.0])), FIRST, put(0))
container("ctypes", lambda: (ctypes.c_double * 1)(2.0), FIRST, put(0))
container(
    "foreign memory as an array", lambda: array.array("d", [2.0]), lambda held: np.frombuffer(held)[0], put(0)
)


def kept(name, value, read, change):
    """A case of what is made of a value once, by `read`, and called in the function."""

    def make():
        held = value()
        ask = read(held)
        return (lambda x: x * ask()), lambda: change(held)

    make.__name__ = name
    case(make)


def table():
    return {"k": 2.0}


def array_of(value):
    return lambda: np.array([value, 2.0, 5.0])


def masked():
    return np.ma.array([1.0, 2.0, 3.0], mask=[0, 0, 1])


def variable():
    held = contextvars.ContextVar("k", default=2.0)
    held.set(2.0)
    return held


def descendant():
    return type("Descendant", (type("Parent", (Base,), {}),), {})


def other_parent(cls):
    cls.__bases__ = (type("Other", (Model,), {"scale": lambda self: 3.0, "weight": 3.0}),)


def lazy_module():
    module = types.ModuleType("tapegrad_test_lazy")
    module.held = {"k": 2.0}

    def missing(name):
        if name == "k":
            return module.held["k"]
        raise AttributeError(name)

    module.__getattr__ = missing
    return module


def dispatching():
    return functools.singledispatch(lambda value: 2.0)


CHANGE, FILL = put("k"), lambda held: held.__setitem__(slice(None), 3.0)
for name, read in {
    "sum": lambda c: c.sum,
    "in a namespace": lambda c: lambda n=types.SimpleNamespace(s=c.sum): n.s(),
    "in a list": lambda c: lambda n=[c.sum]: n[0](),
    "in a partial": lambda c: functools.partial(c.item, 0),
    "special": lambda c: functools.partial(c.__getitem__, 0),
}.items():
    kept(f"bound method of an array, {name}", array_of(1.0), read, FILL)
for name, (read, change) in {
    "method": (lambda c: lambda: c.sum(), lambda c: c.mask.__setitem__(1, True)),
    "bound": (lambda c: c.mean, lambda c: c.mask.__setitem__(1, True)),
    "NumPy": (lambda c: lambda: np.mean(c), lambda c: c.mask.__setitem__(1, True)),
    "hide": (lambda c: lambda: c.sum(), lambda c: c.__setitem__(1, np.ma.masked)),
    "attribute": (lambda c: lambda: 2.0 + c.mask[1], lambda c: c.mask.__setitem__(1, True)),
    "fill value": (lambda c: lambda: c.filled()[2], lambda c: c.set_fill_value(9.0)),
}.items():
    kept(f"mask, {name}", masked, read, change)
for name, (value, read) in {
    "values": (table, lambda d: (lambda v=d.values(): sum(v))),
    "items": (table, lambda d: (lambda v=d.items(): next(iter(v))[1])),
    "keys": (table, lambda d: (lambda v=d.keys(): v.mapping["k"])),
    "partial": (table, lambda d: functools.partial(sum, d.values())),
    "ordered": (lambda: collections.OrderedDict(k=2.0), lambda d: (lambda v=d.values(): sum(v))),
    "proxy": (table, lambda d: (lambda v=types.MappingProxyType(d).values(): sum(v))),
    "frompyfunc": (table, lambda d: (lambda f=np.frompyfunc(lambda i: d["k"], 1, 1): float(f(1)))),
    "frompyfunc of a method": (table, lambda d: (lambda f=np.frompyfunc(d.get, 1, 1): float(f("k")))),
    "reduction of frompyfunc": (
        table, lambda d: (lambda f=np.frompyfunc(lambda i, j: d["k"], 2, 1).reduce: float(f([1, 2]))),
    ),
    "results of lru_cache": (
        lambda: functools.lru_cache(table)(), lambda d: functools.lru_cache(lambda: d["k"]).__wrapped__,
    ),
    "bound getitem of array.array": (
        lambda: array.array("d", [2.0]), lambda d: functools.partial(d.__getitem__, 0),
    ),
}.items():  # fmt: skip
    kept(f"kept {name}", value, read, put(0) if "array.array" in name else CHANGE)
for name, read in {
    "global": lambda v: lambda: v.get(),
    "bound": lambda v: v.get,
    "partial": lambda v: functools.partial(v.get, 7.0),
    "list": lambda v: lambda n=[v]: n[0].get(),
}.items():
    kept(f"ContextVar, {name}", variable, read, lambda v: v.set(3.0))
kept(
    "ContextVar, unset",
    lambda: contextvars.ContextVar("unset"),
    lambda v: lambda: v.get(2.0),
    lambda v: v.set(3.0),
)
for name, read in {
    "class": lambda c: lambda: c.weight,
    "instance": lambda c: lambda o=c(): o.weight,
    "method": lambda c: lambda o=c.__new__(c): o.scale(),
    "isinstance": lambda c: lambda o=c(): 2.0 + isinstance(o, Model),
}.items():
    kept(f"__bases__, {name}", descendant, read, other_parent)
kept("module's __getattr__", lazy_module, lambda m: lambda: m.k, lambda m: m.held.update(k=3.0))
kept("module's hidden __getattr__", lazy_module, lambda m: lambda: m.k, lambda m: setattr(m, "k", 3.0))
for name, read in {
    "call": lambda f: lambda: f(1),
    "dispatch": lambda f: lambda: f.dispatch(int)(1),
    "partial": lambda f: functools.partial(f, 1),
    "list": lambda f: lambda n=[f]: n[0](1),
}.items():
    kept(f"singledispatch, {name}", dispatching, read, lambda f: f.register(int, lambda value: 3.0))
for name, read in {
    "getenv": lambda _: lambda: float(getenv("TAPEGRAD_TEST")),
    "partial of getenv": lambda _: lambda f=functools.partial(getenv, "TAPEGRAD_TEST"): float(f()),
    "attribute": lambda _: lambda n=types.SimpleNamespace(get=getenv): float(n.get("TAPEGRAD_TEST")),
    "expandvars": lambda _: lambda: float(os.path.expandvars("$TAPEGRAD_TEST")),
}.items():
    kept(
        f"environment, {name}", lambda: os.environ.update(TAPEGRAD_TEST="2"), read,
        lambda _: os.environ.update(TAPEGRAD_TEST="3"),
    )  # fmt: skip
kept("thread-local", threading.local, lambda t: lambda: getattr(t, "k", 2.0), lambda t: setattr(t, "k", 3.0))
kept("weak proxy", Record, lambda r: lambda p=weakref.proxy(r): p.k, lambda r: setattr(r, "k", 3.0))
kept(
    "getattr by another name",
    Record,
    lambda r: functools.partial(getattr, r, "k"),
    lambda r: setattr(r, "k", 3.0),
)
kept("exception", lambda: ValueError(2.0), lambda e: lambda: e.args[0], lambda e: setattr(e, "args", (3.0,)))
kept("iterator", lambda: [2.0], lambda c: lambda i=itertools.repeat(c): next(i)[0], put(0))


@case
def default():
    def function(x, k=2.0):
        return x * k

    return function, lambda: setattr(function, "__defaults__", (3.0,))


@case
def mutable_default():
    def function(x, k=[2.0]):  # noqa: B006
        return x * k[0]

    return function, lambda: function.__defaults__[0].__setitem__(0, 3.0)


@case
def default_by_keyword():
    def function(x, *, k=2.0):
        return x * k

    return function, lambda: function.__kwdefaults__.update(k=3.0)


@case
def contents_of_a_partial():
    held = [2.0]
    return functools.partial(lambda k, x: x * k[0], held), lambda: held.__setitem__(0, 3.0)


@case
def partial_called_inside():
    model = Model()
    part = functools.partial(model)
    return (lambda x: part(x)), lambda: setattr(model, "k", 3.0)


@case
def callable_object():
    model = Model()
    return model, lambda: setattr(model, "k", 3.0)


@case
def operator_of_an_object():
    model = Model()
    return (lambda x: model @ x), lambda: setattr(model, "k", 3.0)


@case
def alias():
    model = Model()

    def function(x):
        alias = model
        return x * alias.k

    return function, lambda: setattr(model, "k", 3.0)


@case
def nested_function():
    model = Model()

    def function(x):
        def inside(y):
            return y * model.k

        return inside(x)

    return function, lambda: setattr(model, "k", 3.0)


@case
def comprehension():
    models = [Model(), Model()]
    return (lambda x: sum(x * m.k for m in models)), lambda: setattr(models[1], "k", 3.0)


@case
def functions_in_a_list():
    k = 2.0

    def scaled(x):
        return x * k

    def change():
        nonlocal k
        k = 3.0

    functions = [scaled]
    return (lambda x: functions[0](x)), change


@case
def decorated():
    held = [2.0]

    def doubled(function):
        @functools.wraps(function)
        def wrapper(x):
            return function(x) * held[0]

        return wrapper

    return doubled(lambda x: x * 2), lambda: held.__setitem__(0, 3.0)


@case
def cached():
    held = [2.0]
    function = functools.lru_cache(lambda: held[0])

    def change():
        held[0] = 3.0
        function.cache_clear()

    return (lambda x: x * function()), change


@case
def code_replaced():
    def function(x):
        return x * 2.0

    def other(x):
        return x * 3.0

    return function, lambda: setattr(function, "__code__", other.__code__)


@case
def code_of_a_helper_replaced():
    def inline_njit(x):
        return x * 2.0

    def other(x):
        return x * 3.0

    return (lambda x: inline_njit(x)), lambda: setattr(inline_njit, "__code__", other.__code__)


@case
def recorded_function_inside():
    held = [2.0]
    inner = tg.value_and_grad(tg.jit(lambda x: x * held[0]))
    return (lambda x: inner(x)[0]), lambda: held.__setitem__(0, 3.0)


@case
def minus_zero():
    k = 0.0

    def change():
        nonlocal k
        k = -0.0

    return (lambda x: tg.arctan2(x * k, -1.0)), change


@case
def one_for_true():
    k = True

    def change():
        nonlocal k
        k = 1

    return (lambda x: x * (2.0 if k is True else 3.0)), change


@case
def environment():
    os.environ["TAPEGRAD_TEST"] = "2"
    return (lambda x: x * float(os.environ["TAPEGRAD_TEST"])), lambda: os.environ.update(TAPEGRAD_TEST="3")


@case
def environment_by_getenv():
    os.environ["TAPEGRAD_TEST"] = "2"
    return (lambda x: x * float(os.getenv("TAPEGRAD_TEST"))), lambda: os.environ.update(TAPEGRAD_TEST="3")


@case
def global_by_name():
    # Of a module of its own: this one leads to the whole session of the tests.
    variables = {"FACTOR": 2.0}
    exec("def scaled(x):\n    return x * globals()['FACTOR']", variables)
    return variables["scaled"], lambda: variables.update(FACTOR=3.0)


@case
def static_method():
    def change():
        global FACTOR
        FACTOR = 3.0

    return (lambda x: Model.alone(x)), change


@case
def enumeration():
    return (lambda x: x * Size.SMALL.value), lambda: setattr(Size.SMALL, "_value_", 3.0)


@case
def hidden_attribute_in_slots():
    held = Slotted()
    return held.apply, lambda: held.hide(3.0)


@dataclasses.dataclass
class Doubled:
    k: float = 1.0
    twice: float = dataclasses.field(init=False, default=0.0)

    def __post_init__(self):
        self.twice = self.k * FACTOR

    @classmethod
    def made(cls, k):
        return cls(k).twice


def constructing(name, make):
    """A case of an instance that is made anew, by a constructor that sees a variable."""

    def build():
        held = OfItsOwn()

        def change():
            global FACTOR
            FACTOR = 3.0

        return (lambda x: x * make(held)), change

    build.__name__ = name
    case(build)


class OfItsOwn(Doubled):
    def other(self):
        return __class__(1.0).twice + super().made(1.0)


constructing("class of an object", lambda held: type(held)(1.0).twice)
constructing("__class__ of an object", lambda held: held.__class__(1.0).twice)
constructing("class by getattr", lambda held: getattr(held, "".join("__class__"))(1.0).twice)
constructing("class in a class method", lambda held: held.made(1.0))
constructing("class in a method", lambda held: held.other())
constructing("dataclasses.replace", lambda held: dataclasses.replace(held, k=1.0).twice)
container(
    "dataclasses.asdict",
    Record,
    lambda held: sum(dataclasses.asdict(held).values()),
    lambda held: setattr(held, "k", 3.0),
)
container(
    "copy", Record, lambda held: vars(copy.copy(held))["".join("k")], lambda held: setattr(held, "k", 3.0)
)
container(
    "comparison of dataclasses",
    lambda: (Record(), Record()),
    lambda held: 2.0 + (held[0] == held[1]),
    lambda held: setattr(held[0], "k", 3.0),
)
container(
    "comparison by a method",
    lambda: ([Record(3.0), Record()], Record()),
    lambda held: 2.0 + held[0].index(held[1]),
    lambda held: setattr(held[1], "k", 3.0),
)


@pytest.fixture(autouse=True)
def restore():
    """Classes and variables of this file as they were."""
    global FACTOR
    yield
    FACTOR = 2.0
    Size.SMALL._value_ = 2.0
    os.environ.pop("TAPEGRAD_TEST", None)


class Part:
    """For `partialmethod`."""

    factors = [2.0]  # noqa: RUF012

    def scaled(self, x, by):
        return x * by[0]

    twice = functools.partialmethod(scaled, by=factors)


@case
def arguments_of_a_partialmethod():
    part = Part()
    return lambda x: part.twice(x), lambda: Part.factors.append(Part.factors.pop() + 1.0)


@case
def virtual_subclasses():
    kind, held = abc.ABCMeta("Kind", (), {}), types.SimpleNamespace()
    return lambda x: x * (3 if isinstance(held, kind) else 2), lambda: kind.register(type(held))


@case
def subclasses():
    kind, kept = type("Kind", (), {}), []
    return lambda x: x * (2 + len(kind.__subclasses__())), lambda: kept.append(type("Sub", (kind,), {}))


@case
def annotations_of_a_function():
    def held(k: 2.0):
        pass

    return lambda x: x * held.__annotations__["k"], lambda: held.__annotations__.update(k=3.0)


@case
def doc_of_a_function():
    def held():
        """Held."""

    return lambda x: x * len(held.__doc__), lambda: setattr(held, "__doc__", held.__doc__ + ".")


@case
def view_of_a_user_dict():
    held = collections.UserDict(k=2.0)
    view = held.values()
    return lambda x: x * sum(view), lambda: held.update(k=held["k"] + 1.0)


@case
def attribute_of_a_fraction():
    held = fractions.Fraction(2)
    return lambda x: x * held._numerator, lambda: setattr(held, "_numerator", held._numerator + 1)


@case
def field_of_a_template():
    held = types.SimpleNamespace(text="ab")
    return lambda x: x * len("{0.text}".format(held)), lambda: setattr(held, "text", held.text + "c")  # noqa: UP030, UP032


@case
def kept_getattribute():
    held, get, name = Base(), object.__getattribute__, "".join(("wei", "ght_too"))
    held.weight_too = 2.0
    return lambda x: x * get(held, name), lambda: setattr(held, "weight_too", held.weight_too + 1.0)


@case
def state_of_a_lock():
    held = threading.Lock()
    return lambda x: x * (2 + held.locked()), lambda: held.acquire(blocking=False)


@case
def position_of_a_broadcast():
    held = np.broadcast(np.arange(4.0), np.arange(4.0))
    return lambda x: x * (2 + held.index), lambda: next(held)


@case
def number_in_a_library_module():
    string.tapegrad_factor = 2.0
    return lambda x: x * string.tapegrad_factor, lambda: setattr(
        string, "tapegrad_factor", string.tapegrad_factor + 1.0
    )


@case
def builtins_of_a_namespace():
    variables = {"__builtins__": {"factor": 2.0}}
    function = types.FunctionType((lambda x: x * factor).__code__, variables)  # noqa: F821
    own = variables["__builtins__"]
    return function, lambda: own.update(factor=own["factor"] + 1.0)


@case
def shared_value():
    held = multiprocessing.Value("d", 2.0)
    return lambda x: x * held.value, lambda: setattr(held, "value", held.value + 1.0)


@case
def name_and_attrs_of_a_series():
    pandas = pytest.importorskip("pandas")
    held = pandas.Series([1.0], name="ab")
    held.attrs["k"] = [2.0]
    return lambda x: x * held.attrs["k"][0] * len(held.name), lambda: held.attrs["k"].append(
        held.attrs["k"].pop() + 1
    )


@dataclasses.dataclass
class Setting:
    order: int = 1


COPIES = [1.0]


class Copied:
    """Copies of it depend on a global variable, and listings on an attribute that nothing else names."""

    def __init__(self):
        setattr(self, "".join(("co", "unt")), 1)

    def __reduce__(self):
        return float, (sum(COPIES),)

    def __dir__(self):
        return ["a"] * self.count


def number(text):
    """A number that changes with a text."""
    return float(sum(map(ord, text)))


def raised(held):
    """The text of an error."""
    try:
        raise ValueError(f"{held}")
    except ValueError as error:
        return error.args[0]


THREE = [1, 2, 3]
TEMPLATES = ["%s", "%(held)r"]
TEXTS = {
    "str": lambda held: str(held),
    "repr": lambda held: repr([held]),
    "format": lambda held: "{}".format(held),  # noqa: UP032
    "f-string": lambda held: f"{held}",
    "conversion in an f-string": lambda held: f"{held!r:>30}",
    "percent": lambda held: "order of %s" % held,  # noqa: UP031
    "kept percent": lambda held: TEMPLATES[0] % (held,),
    "kept percent by name": lambda held: TEMPLATES[1] % {"held": held},
    "map": lambda held: "".join(map(str, (held,))),
    "method": lambda held: held.__repr__(),
    "template": lambda held: string.Template("$held").substitute(held=held),
    "error": raised,
}


@pytest.mark.parametrize("names", [sorted(TEXTS)])
def test_text_of_objects_is_watched(names):
    stale = []
    for name in names:
        held, text = Setting(), TEXTS[name]
        replayed = tg.jit(lambda x, held=held, text=text: x * number(text(held)))
        before = replayed(1.0)
        held.order = 2
        if before == replayed(1.0) or replayed(1.0) != number(text(held)):
            stale.append(name)
    assert not stale


def test_text_that_nothing_reads_costs_nothing():
    """Numbers with a format, and the text of errors that are not caught."""
    held = types.SimpleNamespace(setting=Setting())

    def function(x):
        if held.setting is None:
            raise ValueError(f"no setting in {held}")
        return x * len(f"{2.0:.3f}") * (len(THREE) % 2 + 1)

    replayed = tg.jit(function)
    replayed(1.0)
    assert not [line for line in repr(replayed.watched()).splitlines() if "order" in line]


@case
def copy_of_an_object():
    held = Copied()
    return lambda x: x * copy.copy(held), lambda: COPIES.append(1.0)


@case
def listing_of_an_object():
    held = Copied()
    return lambda x: x * len(dir(held)), lambda: held.__dict__.update(count=held.__dict__["count"] + 1)


@case
def listing_of_a_class():
    class Listed:
        pass

    return lambda x: x * len(dir(Listed)), lambda: setattr(Listed, f"name_{len(dir(Listed))}", 1.0)


@case
def name_of_a_class():
    class Named:
        pass

    held = Named()
    return lambda x: x * len(type(held).__name__), lambda: setattr(Named, "__name__", Named.__name__ + "a")


FIRST, SECOND = ("".join(parts) for parts in (("fi", "rst"), ("sec", "ond")))  # names that no code spells out


class Matched:
    pass


def matched(name):
    """An object of a class whose patterns read the first one of its attributes."""
    held = type(name, (Matched,), {"__match_args__": (FIRST,), "__module__": __name__})()
    vars(held).update({FIRST: 2.0, SECOND: 3.0})
    return type(held), held


@case
def positions_in_a_pattern():
    cls, held = matched("Positions")

    def function(x):
        match held:
            case cls(found):
                return x * found
        return x

    others = itertools.cycle([SECOND, FIRST])
    return function, lambda: setattr(cls, "__match_args__", (next(others),))


@case
def attribute_in_a_pattern():
    cls, held = matched("Attribute")

    def function(x):
        match held:
            case cls(found):
                return x * found
        return x

    return function, lambda: setattr(held, FIRST, getattr(held, FIRST) + 1.0)


@case
def flags_of_an_array():
    held = np.ones(2)
    return lambda x: x * (1.0 + held.flags.writeable), lambda: held.setflags(write=not held.flags.writeable)


PATHS = {
    "cwd": lambda: str(pathlib.Path.cwd()),
    "absolute": lambda: str(pathlib.Path("a").absolute()),
    "resolve": lambda: str(HERE.resolve()),
    "realpath": lambda: os.path.realpath("."),
    "relpath": lambda: os.path.relpath("/a"),
    "abspath": lambda: os.path.abspath("."),
}
HERE = pathlib.Path()


def test_the_working_directory_is_watched(tmp_path, monkeypatch):
    replayed = {name: tg.jit(lambda x, path=path: x * number(path())) for name, path in PATHS.items()}
    for folder in (tmp_path, tmp_path / "a" / "b", tmp_path / "a"):
        folder.mkdir(parents=True, exist_ok=True)
        monkeypatch.chdir(folder)
        assert {name: f(1.0) for name, f in replayed.items()} == {
            name: number(f()) for name, f in PATHS.items()
        }


def test_the_home_directory_is_watched(monkeypatch):
    replayed = tg.jit(lambda x: x * number(str(pathlib.Path.home())))
    for home in ("/a", "/b"):
        monkeypatch.setenv("HOME", home)
        monkeypatch.setenv("USERPROFILE", home)
        assert replayed(1.0) == number(str(pathlib.Path.home()))


@pytest.mark.parametrize("name", CASES)
def test_what_is_seen_is_watched(name):
    function, change = CASES[name]()
    replayed, with_gradient = tg.jit(function), tg.value_and_grad(tg.jit(function))
    for _ in range(2):
        for _ in range(2):
            expected = tg.value_and_grad(function)(1.5)
            assert replayed(1.5) == expected[0]
            assert with_gradient(1.5) == expected
            assert np.signbit(with_gradient(1.5)[0]) == np.signbit(expected[0])
        change()


@pytest.mark.parametrize(
    "call", [Model().through_super, Model().through_two, Model.of_class, lambda x: Model()(x)]
)
def test_classes_are_watched(call, monkeypatch):
    replayed = tg.jit(call)
    assert replayed(1.0) == 2
    with monkeypatch.context() as patch:
        patch.setattr(Base, "scale", lambda self: 3.0)
        patch.setattr(Base, "weight", 3.0)
        patch.setattr(Model, "__init__", lambda self: self.__dict__.update(k=3.0))
        assert replayed(1.0) == 3
    assert replayed(1.0) == 2


@pytest.mark.parametrize("holder", [Between, Base])
def test_classes_behind_an_overridden_method_are_watched(holder, monkeypatch):
    call = Model().through_two
    replayed = tg.jit(call)
    assert replayed(1.0) == 2
    monkeypatch.setattr(holder, "hidden", lambda self: 3.0, raising=False)
    assert replayed(1.0) == call(1.0) == 3


def test_imports_inside(monkeypatch):
    module = types.ModuleType("tapegrad_test_settings")
    module.k = 2.0
    monkeypatch.setitem(sys.modules, module.__name__, module)

    def by_module(x):
        import tapegrad_test_settings  # noqa: PLC0415

        return x * tapegrad_test_settings.k

    def by_name(x):
        from tapegrad_test_settings import k  # noqa: PLC0415

        return x * k

    replayed = [tg.jit(by_module), tg.jit(by_name)]
    assert [f(1.0) for f in replayed] == [2, 2]
    module.k = 3.0
    assert [f(1.0) for f in replayed] == [3, 3]
    other = types.ModuleType(module.__name__)
    other.k = 4.0
    monkeypatch.setitem(sys.modules, module.__name__, other)
    assert [f(1.0) for f in replayed] == [4, 4]


@pytest.mark.parametrize("name", ["random", "statistics", "numpy_settings"])
def test_modules_are_judged_by_where_they_lie(name, tmp_path, monkeypatch):
    file = tmp_path / f"{name}.py"
    file.write_text("k = 2.0\nclass Held:\n    k = 2.0\ndef scaled(x):\n    return x * k * Held.k\n")
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    replayed = [tg.jit(lambda x: module.scaled(x)), tg.jit(module.scaled)]
    assert [f(1.0) for f in replayed] == [4, 4]
    module.k = 3.0
    assert [f(1.0) for f in replayed] == [6, 6]
    module.Held.k = 3.0
    assert [f(1.0) for f in replayed] == [9, 9]


ARGUMENTS = {
    "positional": lambda f, m: f(1.0, m),
    "keyword": lambda f, m: f(1.0, m=m),
    "in a list": lambda f, m: f(1.0, [m]),
    "in a dict": lambda f, m: f(1.0, {"m": [m]}),
    "in args": lambda f, m: f(1.0, None, m),
    "in kwargs": lambda f, m: f(1.0, None, other=m),
}


def first_model(value):
    """The object somewhere in a structure."""
    if isinstance(value, list | tuple | dict):
        parts = value.values() if isinstance(value, dict) else value
        return next((found for found in map(first_model, parts) if found is not None), None)
    return value


@pytest.mark.parametrize("name", ARGUMENTS)
def test_objects_among_arguments_are_watched(name):
    recordings = []

    @tg.jit
    def function(x, m=None, *args, **kwargs):
        recordings.append(1)
        return x * first_model([m, args, kwargs]).k

    call, model, other = ARGUMENTS[name], Record.__new__(Base), Base()
    model.k, other.k = 2.0, 5.0
    assert [call(function, m) for m in (model, other, model, other)] == [2, 5, 2, 5]
    assert len(recordings) == 2
    model.k = 3.0
    assert [call(function, m) for m in (model, other)] == [3, 5]
    assert len(recordings) == 3


def test_classes_whose_class_names_no_module_are_watched():
    """As Cython's class of functions is made."""
    kind = type("Kind", (type,), {"__module__": property(lambda cls: "elsewhere")})
    seen = kind("Seen", (), {"factor": 2.0})
    f = tg.jit(lambda x: x * seen.factor)
    assert f(3.0) == 6.0
    seen.factor = 4.0
    assert f(3.0) == 12.0


def test_more_than_can_be_watched_is_refused(monkeypatch):
    monkeypatch.setattr(walk, "MAX_REFERENCES", 50)
    held = [[float(k)] for k in range(100)]
    with pytest.raises(tg.UnsupportedError, match="pass large tables as arrays"):
        tg.jit(lambda x: x * held[0][0])(1.0)


def test_equal_values_do_not_record_again():
    recordings, k, table = [], 1e3, {"a": [2.0, "text"]}

    def function(x):
        recordings.append(1)
        return x * k * table["a"][0]

    replayed = tg.jit(function)
    assert replayed(1.0) == 2000
    for _ in range(3):
        k, table = float("1000"), {"a": [float("2.0"), "text"]}
        assert replayed(1.0) == 2000
    table["a"][0] = 3.0
    assert replayed(1.0) == 3000
    assert len(recordings) == 2

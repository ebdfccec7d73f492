"""State that libraries, the interpreter and classes keep for a program: a replay notices when it changes."""

import abc
import builtins
import collections
import ctypes
import dataclasses
import decimal
import fractions
import functools
import multiprocessing
import os
import sys
import threading
import types

import numpy as np
import pytest
import scipy.special as sp

import tapegrad as tg

CASES = {}


def case(make):
    """A function that makes a function of x, what changes something that it sees, and what undoes that."""
    CASES[make.__name__] = make
    return make


@case
def abc_register():
    A = abc.ABCMeta("A", (), {})  # noqa: N806

    class B:
        pass

    b = B()

    def f(x):
        return x * (2.0 if isinstance(b, A) else 3.0)

    return f, lambda: A.register(B)


@case
def partialmethod():
    class C:
        def m(self, k, x):
            return x * k

        p = functools.partialmethod(m, 2.0)

    c = C()

    def f(x):
        return c.p(x)

    def change():
        C.__dict__["p"].args = (3.0,)

    return f, change


@case
def defaults_none():
    def g(x, k=None):
        return x * (2.0 if k is None else k)

    def f(x):
        return g(x)

    def change():
        g.__defaults__ = (3.0,)

    return f, change


@case
def defaults_added():
    def g(*a):
        return a[0] * 2.0 if len(a) == 1 else a[0] * 3.0

    def h(x, k):
        return x * k

    h.__defaults__ = (2.0,)

    def f(x):
        try:
            return h(x)
        except TypeError:
            return x

    def change():
        h.__defaults__ = None

    return f, change


@case
def kwdefaults_none():
    def h(x, *, k):
        return x * k

    def f(x):
        try:
            return h(x)
        except TypeError:
            return x

    def change():
        h.__kwdefaults__ = {"k": 3.0}

    return f, change


@case
def dataclass_init_defaults():
    @dataclasses.dataclass
    class D:
        k: float = 2.0

    def f(x):
        return x * D().k

    def change():
        D.__init__.__defaults__ = (3.0,)

    return f, change


@case
def userdict_view():
    u = collections.UserDict(a=2.0)
    v = u.values()

    def f(x):
        return x * sum(v)

    def change():
        u["a"] = 3.0

    return f, change


@case
def chainmap_view():
    u = collections.ChainMap({"a": 2.0})
    v = u.values()

    def f(x):
        return x * sum(v)

    def change():
        u["a"] = 3.0

    return f, change


@case
def subclasses():
    class A:
        pass

    keep = []

    def f(x):
        return x * (1.0 + len(A.__subclasses__()))

    def change():
        keep.append(type("B", (A,), {}))

    return f, change


@case
def fname():
    def g():
        pass

    def f(x):
        return x * len(g.__name__)

    def change():
        g.__name__ = "Another."

    return f, change


@case
def fdoc():
    def g():
        """One."""

    def f(x):
        return x * len(g.__doc__)

    def change():
        g.__doc__ = "Another."

    return f, change


@case
def fann():
    def g(a: 1):
        pass

    def f(x):
        return x * len(g.__annotations__)

    def change():
        g.__annotations__ = {}

    return f, change


@case
def cls_annotations_doc():
    class A:
        """One."""

    def f(x):
        return x * len(A.__doc__)

    def change():
        A.__doc__ = "Another."

    return f, change


@case
def format_template():
    class A:
        k = 2.0

    a = A()
    t = "{0.k}"

    def f(x):
        return x * float(t.format(a))

    def change():
        a.k = 3.0

    return f, change


@case
def kept_getattribute():
    class A:
        k = 2.0

    a = A()
    get = object.__getattribute__
    n = "k"

    def f(x):
        return x * get(a, n)

    def change():
        a.k = 3.0

    return f, change


@case
def ctypes_pointer():
    v = ctypes.c_double(2.0)
    p = ctypes.pointer(v)

    def f(x):
        return x * p.contents.value

    def change():
        v.value = 3.0

    return f, change


@case
def mp_value():
    v = multiprocessing.Value("d", 2.0)

    def f(x):
        return x * v.value

    def change():
        v.value = 3.0

    return f, change


@case
def mp_rawarray():
    v = multiprocessing.RawArray("d", [2.0])

    def f(x):
        return x * v[0]

    def change():
        v[0] = 3.0

    return f, change


@case
def fraction():
    q = fractions.Fraction(2)

    def f(x):
        return x * float(q)

    def change():
        q._numerator = 3

    return f, change


@case
def lock():
    held = threading.Lock()

    def f(x):
        return x * (2.0 if held.locked() else 3.0)

    def change():
        held.acquire()

    return f, change


@case
def npbroadcast():
    b = np.broadcast(np.arange(3.0), 1.0)

    def f(x):
        return x * (1.0 + b.index)

    def change():
        next(b)

    return f, change


@case
def decimal_kept():
    d = decimal.Decimal(1)

    def f(x):
        return x * float(d / 3)

    def change():
        decimal.getcontext().prec = 3

    def undo():
        decimal.getcontext().prec = 28

    return f, change, undo


@case
def scipy_seterr():
    def f(x):
        return x * (2.0 if sp.geterr()["singular"] == "ignore" else 3.0)

    def change():
        sp.seterr(singular="warn")

    def undo():
        sp.seterr(singular="ignore")

    return f, change, undo


@case
def printoptions_str():
    a = np.array([1.23456789])

    def f(x):
        return x * len(str(a))

    def change():
        np.set_printoptions(precision=2)

    def undo():
        np.set_printoptions(precision=8)

    return f, change, undo


@case
def sys_attr():
    sys.my = 2.0

    def f(x):
        return x * sys.my

    def change():
        sys.my = 3.0

    return f, change


@case
def os_attr():
    os.my = 2.0

    def f(x):
        return x * os.my

    def change():
        os.my = 3.0

    return f, change


@case
def builtins_abs():
    old = builtins.abs

    def f(x):
        return (
            x * __builtins__.abs(-2.0)
            if not isinstance(__builtins__, dict)
            else x * __builtins__["abs"](-2.0)
        )

    def change():
        builtins.abs = lambda v: 3.0

    def undo():
        builtins.abs = old

    return f, change, undo


@case
def builtins_abs2():
    old = builtins.abs

    def f(x):
        return x * builtins.abs(-2.0)

    def change():
        builtins.abs = lambda v: 3.0

    def undo():
        builtins.abs = old

    return f, change, undo


@case
def pandas_iloc():
    pd = pytest.importorskip("pandas")
    s = pd.Series([2.0, 3.0])
    i = s.iloc

    def f(x):
        return x * i[0]

    def change():
        s.iloc[0] = 3.0

    return f, change


@case
def pandas_name():
    pd = pytest.importorskip("pandas")
    s = pd.Series([2.0, 3.0], name="a")

    def f(x):
        return x * len(s.name)

    def change():
        s.name = "aaa"

    return f, change


@case
def pandas_attrs():
    pd = pytest.importorskip("pandas")
    s = pd.Series([2.0, 3.0])
    s.attrs["k"] = 2.0

    def f(x):
        return x * s.attrs["k"]

    def change():
        s.attrs["k"] = 3.0

    return f, change


@case
def pandas_option():
    pd = pytest.importorskip("pandas")

    def f(x):
        return x * pd.get_option("display.max_rows")

    def change():
        pd.set_option("display.max_rows", 7)

    return f, change


@case
def xarray_attrs():
    xr = pytest.importorskip("xarray")
    s = xr.DataArray([2.0, 3.0])
    s.attrs["k"] = 2.0

    def f(x):
        return x * s.attrs["k"]

    def change():
        s.attrs["k"] = 3.0

    return f, change


@case
def xarray_name():
    xr = pytest.importorskip("xarray")
    s = xr.DataArray([2.0, 3.0], name="a")

    def f(x):
        return x * len(s.name)

    def change():
        s.name = "aaa"

    return f, change


@case
def simplenamespace():
    s = types.SimpleNamespace(k=2.0)

    def f(x):
        return x * s.k

    def change():
        s.k = 3.0

    return f, change


@pytest.mark.parametrize("name", CASES)
def test_what_libraries_keep_is_watched(name):
    function, change, *undo = CASES[name]()
    replayed = tg.jit(function)
    try:
        before = [replayed(1.5) for _ in range(2)]
        assert before == [function(1.5)] * 2
        change()
        expected = function(1.5)
        assert expected != before[0], "the change changes nothing"
        assert [replayed(1.5) for _ in range(2)] == [expected] * 2
    finally:
        for each in undo:
            each()

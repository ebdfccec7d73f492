"""Public names of the package by subject: which page of the reference each one is on.

Names come from the package: ``__all__``, the modules that re-export names, the tables of functions, and the op table.
So a new public function is on a page by itself. A function of no subject raises, which ends the build.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import tapegrad as tg
from tapegrad import (
    errors,
    fft,
    integrate,
    interop,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    sparse,
    special,
    stats,
    testing,
)
from tapegrad.autodiff.custom.op import CustomOp
from tapegrad.autodiff.hooks import RemovableHook
from tapegrad.frontend.functions.shapes.flat import FlatElements
from tapegrad.ops import ELEMENTWISE
from tapegrad.stats.distribution import Distribution
from tapegrad.transforms.jit import Jit

# Attributes without an underscore that modules of the package use among each other.
INTERNAL = {
    "Tensor.check_escape", "Tensor.data_or_traced", "Tensor.escaped",
    "Jit.arguments", "Jit.derive", "Jit.specializations", "Jit.refresh", "Jit.run", "Jit.settings",
    "Jit.constants", "Jit.note_tensors",
}  # fmt: skip
# Classes of what public functions return; they have no public name of their own.
RETURNED = {"transforms": (Jit,), "tensors": (FlatElements, RemovableHook), "checks": (CustomOp,)}
_MODULES = {
    "checks": testing,
    "linalg": linalg,
    "fft": fft,
    "sparse": sparse,
    "special": special,
    "stats": stats,
    "integrate": integrate,
    "interpolate": interpolate,
    "signal": signal,
    "ndimage": ndimage,
    "optimize": optimize,
    "interop": interop,
    "errors": errors,
}
_DISTRIBUTION_METHODS = (
    *("logpdf", "pdf", "logpmf", "pmf", "cdf", "sf", "logcdf", "logsf", "ppf"),
    *("mean", "cov", "entropy", "rvs", "structure"),
)
_FAMILIES = {
    "arithmetic": "Arithmetic",
    "parts": "Parts of numbers",
    "selection": "Largest, smallest, chosen",
    "exponential": "Exponentials and logarithms",
    "trigonometric": "Trigonometric functions",
    "hyperbolic": "Hyperbolic functions",
    "special": "Error functions, normal and logistic distribution",
    "entropy": "Entropies and losses",
    "gamma": "Gamma and beta functions",
    "incomplete": "Incomplete integrals and their inverses",
    "bessel": "Bessel functions",
    "elliptic": "Elliptic integrals",
    "hypergeometric": "Confluent hypergeometric functions",
    "polynomial": "Orthogonal polynomials and Legendre functions",
    "predicates": "Comparisons",
}


@dataclass(frozen=True)
class Subject:
    """A page of the reference: functions that are defined in certain modules, in sections.

    Attributes
    ----------
    title, text : str
        Heading, and what stands below it.
    modules : tuple of str
        Beginnings of the names of the modules that define the page's functions, below ``tapegrad.``.
    sections : dict
        Full names by the title of the section, "" for the first one.
    """

    title: str
    text: str
    modules: tuple[str, ...] = ()
    sections: dict[str, list[str]] = field(default_factory=dict)

    def add(self, full: str, section: str = "") -> None:
        """Add a name to a section."""
        self.sections.setdefault(section, []).append(full)

    def names(self) -> list[str]:
        """Return the full names of all sections."""
        return [full for names in self.sections.values() for full in names]

    def ordered(self) -> list[tuple[str, list[str]]]:
        """Return titles and names of the sections: families in their order, what has none before, objects last."""
        order = ["", *_FAMILIES.values(), "Returned objects"]
        return sorted(self.sections.items(), key=lambda section: order.index(section[0]))


def _subjects() -> dict[str, Subject]:
    """Return the empty pages in their order; the first one that has a module's name takes its functions."""
    made = "frontend.functions."
    return {
        "transforms": Subject(
            "Derivatives and transforms",
            "`grad`, `jacobian`, `hessian`, `hvp`, `jvp`, `vjp`; `jit`, `vmap`, `compile`, `propagate`; of solutions.",
            ("transforms.", "implicit.", "latent.", "optimize.solutions.propagation"),
        ),
        "loops": Subject(
            "Loops and branches",
            "JAX's `scan`, `fori_loop`, `while_loop`, `cond` and `switch`, one instruction each.",
            ("loops.",),
        ),
        "tensors": Subject(
            "Tensors, modes and the tape",
            "The Tensor with its methods, backward among them; `no_grad`; `detect_anomaly`; what the tape holds.",
            ("frontend.tensor.",),
        ),
        "checks": Subject(
            "Checks and times of derivatives, custom ops",
            "`check_grads` compares derivatives with differences; `benchmark` measures them beside other libraries;"
            " `custom_op` takes a derivative of yours.",
            ("testing.", "autodiff."),
        ),
        "creation": Subject(
            "Array creation", "New Tensors: of data and lists, of ranges, filled with a value, and copies.",
            (f"{made}making.", "frontend.conversions.", "frontend.numpy_face."),
        ),
        "elements": Subject(
            "Mathematical functions",
            "Arithmetic, `exp`, `sin`, `maximum`, `clip`, comparisons, `isnan`: elementwise, with broadcasting.",
            ("frontend.recording.elementwise", f"{made}elements."),
        ),
        "predicates": Subject(
            "Predicates and comparisons",
            "`where`, and functions whose results are constants: `any`, `allclose`, `logical_and`, `nonzero`, `shape`.",
            (f"{made}reductions.predicates",),
        ),
        "reductions": Subject(
            "Sums, extremes and statistics",
            "`sum`, `mean`, `max`, `std`, `logsumexp` and others along axes; `cumsum`, `cumprod`.",
            (f"{made}reductions.",),
        ),
        "shapes": Subject(
            "Shapes: reshape, join, split",
            "`reshape`, `transpose`, `concatenate`, `stack`, `split`, `tile`, `roll`, `tril`, `meshgrid`.",
            (f"{made}shapes.", "frontend.recording.shape"),
        ),
        "ordering": Subject(
            "Sorting, searching, selection",
            "`sort`, quantiles and medians, `argmax`, `searchsorted`, `take`, `select`, sets.",
            (f"{made}ordering.",),
        ),
        "products": Subject(
            "Matrix and vector products",
            "`matmul`, `dot`, `einsum`, `tensordot`, `outer`, `kron`, `cross`, of stacks as well.",
            (f"{made}products.",),
        ),
        "numerics": Subject(
            "Numerical methods",
            "`diff`, `interp`, `trapezoid`, `polyfit`, `convolve`, `pad`, `histogram`, `cov`.",
            (f"{made}numerics.", f"{made}matrices."),
        ),
        "linalg": Subject("tapegrad.linalg", "Linear algebra, by the names of `numpy.linalg` and `scipy.linalg`."),
        "fft": Subject("tapegrad.fft", "Fourier transforms, by the names of `numpy.fft` and `scipy.fft`."),
        "sparse": Subject("tapegrad.sparse", "Sparse matrices with computed entries, by the names of `scipy.sparse`."),
        "special": Subject("tapegrad.special", "Special functions, by the names of `scipy.special`."),
        "stats": Subject("tapegrad.stats", "Distributions, by the names of `scipy.stats`."),
        "integrate": Subject(
            "tapegrad.integrate", "Differential equations and integrals, by the names of `scipy.integrate`."
        ),
        "interpolate": Subject("tapegrad.interpolate", "Splines and grids, by the names of `scipy.interpolate`."),
        "signal": Subject(
            "tapegrad.signal", "Convolutions, filters and spectra, by the names of `scipy.signal`."
        ),
        "ndimage": Subject("tapegrad.ndimage", "Linear filters of images, by the names of `scipy.ndimage`."),
        "optimize": Subject(
            "tapegrad.optimize",
            "Fits and optimisers: `minimize`, `curve_fit`, `laplace`, `problem`, `root`, `sharded`.",
        ),
        "interop": Subject(
            "tapegrad.interop",
            "Functions for `nutpie`, `pymc`, `emcee`, `torch` and other packages, called without Python.",
            ("interop.",),
        ),
        "errors": Subject(
            "Errors and warnings", "Each exception and warning of the package, and when it is raised.", ("errors",)
        ),
    }  # fmt: skip


def reference() -> dict[str, Subject]:
    """Return the pages of the reference with all public names."""
    subjects, tables, known = _subjects(), list(_function_tables()), set()
    for name in own_names():
        value = getattr(tg, name)
        if not inspect.ismodule(value):
            known.add(id(value))
            _subject_of(subjects, _home(name, value, tables)).add(f"tapegrad.{name}", _section(value))
    for slug, module in _MODULES.items():
        for name in exported(module):
            value = getattr(module, name)
            if id(value) not in known or module in (linalg, special):
                subjects[slug].add(f"{module.__name__}.{name}", _section(value) if module is special else "")
    for slug, kinds in RETURNED.items():
        for kind in kinds:
            subjects[slug].add(f"{kind.__module__}.{kind.__qualname__}", "Returned objects")
    return subjects


def own_names() -> list[str]:
    """Return the names of the package that are not NumPy's own objects."""
    return [name for name in tg.__all__ if getattr(tg, name) is not getattr(np, name, None)]


def numpys_names() -> list[str]:
    """Return the names of the package that are NumPy's own objects."""
    return [name for name in tg.__all__ if getattr(tg, name) is getattr(np, name, None)]


def exported(module: Any) -> list[str]:
    """Return the public names of a module: ``__all__``, or what it imports ``as`` itself, and its own exceptions."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    body = ast.parse(inspect.getsource(module)).body
    aliases = [each for node in body if isinstance(node, ast.ImportFrom) for each in node.names]
    names = {each.name for each in aliases if each.name == each.asname}
    names |= {
        node.name
        for node in body
        if isinstance(node, ast.ClassDef) and issubclass(vars(module)[node.name], Exception)
    }
    return sorted(
        name
        for name in names
        if not name.startswith("_") and getattr(module, name) is not getattr(np.linalg, name, None)
    )


def members(kind: type) -> list[str]:
    """Return the public methods and properties that a class has from the package."""
    return sorted(
        {
            name
            for base in kind.__mro__
            if base.__module__.startswith("tapegrad")
            for name, value in vars(base).items()
            if not name.startswith("_")
            and f"{kind.__name__}.{name}" not in INTERNAL
            and (callable(value) or isinstance(value, property | classmethod))
            and inspect.getdoc(value)
        }
    )


def distribution_methods(distribution: Any) -> list[str]:
    """Return the methods of a distribution that have a closed form."""
    methods = [name for name in _DISTRIBUTION_METHODS if hasattr(distribution, name)]
    if not isinstance(distribution, Distribution):
        return methods
    closed = {name for name, function in distribution._probabilities.items() if function is not None}
    if getattr(distribution, "quantile", None) is not None:
        closed.add("ppf")
    return [name for name in methods if name in closed or "pdf" in name or "pmf" in name]


def _subject_of(subjects: dict[str, Subject], home: str) -> Subject:
    for subject in subjects.values():
        if home.removeprefix("tapegrad.").startswith(subject.modules or ("-",)):
            return subject
    raise LookupError(f"{home} is of no subject of the reference: name one in docs/_ext/public_names.py")


def _function_tables() -> Iterator[tuple[str, set[int]]]:
    """Yield the modules that have a table of functions, and the identities of these."""
    for module, contents in list(sys.modules.items()):
        if module.startswith("tapegrad.frontend.") and not module.endswith(".numpy_protocols"):
            for name in ("FUNCTIONS", "CREATION"):
                if isinstance(table := vars(contents).get(name), dict):
                    yield module, set(map(id, table.values()))


def _home(name: str, value: Any, tables: list[tuple[str, set[int]]]) -> str:
    """Return the module that a function is defined in; of one made at run time, the module whose table has it."""
    module = value.__module__
    if module not in ("tapegrad", "tapegrad.special"):
        return str(module)
    found = next((home for home, functions in tables if id(value) in functions), None)
    if found is None:
        raise LookupError(f"tapegrad.{name} is in no table of functions")
    return found


def _section(value: Any) -> str:
    """Return the section of an elementwise function: the family of its row; "" for any other."""
    return _FAMILIES[_families()[id(value)]] if id(value) in _families() else ""


@cache
def _families() -> dict[int, str]:
    """Return the families of the functions of the op table, by their identities."""
    homes = (tg, special)
    return {
        id(function): row.family
        for row in ELEMENTWISE
        for home in homes
        if (function := getattr(home, row.name, None)) is not None
    }

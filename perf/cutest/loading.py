"""Copies of the package sif2jax in one process: as it is, on JAX, and on the stand-ins for JAX's modules."""

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from perf.cutest.namespace import modules
from perf.peers import Unavailable, load

PACKAGE = "sif2jax"
ROOMS = ("bounded_minimisation", "constrained_minimisation", "nonlinear_equations", "quadratic_problems",
         "unconstrained_minimisation")  # fmt: skip


class Collection:
    """A copy of the problems with modules of its own, which are imported one by one, for together they take minutes."""

    def __init__(self, stand_ins: dict[str, ModuleType]) -> None:
        found = importlib.util.find_spec(PACKAGE)
        if found is None:
            raise Unavailable(f"{PACKAGE} is not installed: pip install {PACKAGE}")
        self._roots = {PACKAGE, *(name.partition(".")[0] for name in stand_ins)}
        self._modules = dict(stand_ins)
        folder = next(iter(found.submodule_search_locations or []))
        for name in ("", ".cutest", *(f".cutest._{room}" for room in ROOMS)):
            package = self._modules[PACKAGE + name] = ModuleType(PACKAGE + name)
            package.__path__ = [folder + name.replace(".", "/")]
        with self._in_place():
            vars(sys.modules[PACKAGE]).update(vars(importlib.import_module(f"{PACKAGE}._problem")))

    def problem(self, where: str) -> Any:
        """Return a problem by room, module and class."""
        module, _, name = where.rpartition(".")
        with self._in_place():
            return getattr(importlib.import_module(f"{PACKAGE}.cutest._{module}"), name)()

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        """Have these modules under their names, and afterwards those that were there."""
        kept = self._taken()
        sys.modules.update(self._modules)
        try:
            yield
        finally:
            self._modules = self._taken()
            sys.modules.update(kept)

    def _taken(self) -> dict[str, ModuleType]:
        names = [name for name in sys.modules if name.partition(".")[0] in self._roots]
        return {name: sys.modules.pop(name) for name in names}


def on_stand_ins() -> Collection:
    """Return the copy that is tapegrad's."""
    return Collection(modules())


def on_jax() -> Collection:
    """Return the copy that is JAX's, in double precision."""
    for name in ("equinox", "jaxtyping", "jax"):
        load(name)
    load("jax").config.update("jax_enable_x64", True)
    return Collection({})


def every_problem() -> list[str]:
    """Return all problems by room, module and class; the import takes seconds on the stand-ins."""
    whole = on_stand_ins()
    for name in [name for name in whole._modules if name.startswith(f"{PACKAGE}.") or name == PACKAGE]:
        del whole._modules[name]
    with whole._in_place():
        found = importlib.import_module(f"{PACKAGE}.cutest").problems
    prefix = f"{PACKAGE}.cutest._"
    return [f"{type(each).__module__.removeprefix(prefix)}.{type(each).__name__}" for each in found]

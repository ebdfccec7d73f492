"""Modes: texts of functions that compute a value or a derivative of a program, and what their results must be.

A mode has three parts. The program is taken as it is, or recorded (`inner`); a derivative is made of it (`quantity`);
and that is called at some points, recorded itself, compiled, or mapped over the points at once (`outer`).
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from helpers.compositions.oracle import Estimate, Oracle
from helpers.compositions.program import Arrays, Program, dot

INNER = {
    "": "f",
    "jit": "tg.jit(f)",
    "fused": "tg.jit(f, fuse=True)",
    "rolled": "tg.jit(f, roll=True)",
    "checkpoint": "lambda *a: tg.checkpoint(f)(*a)",
}
FIXED = ("vmap", "compile")  # called with the constants of the first point alone
OUTER = ("", "jit", "fused", "rolled", "vmap", "compile")
_OUTER_TEXT = {
    "": "q = {q}",
    "jit": "q = tg.jit({q})",
    "fused": "q = tg.jit({q}, fuse=True)",
    "rolled": "q = tg.jit({q}, roll=True)",
    "vmap": "q = tg.vmap({q})",
    "compile": "q = tg.compile({q}, *points)",
}


@dataclass(frozen=True)
class Quantity:
    """What is computed of a function: its text, the order of the derivative, and which programs have it.

    `of` has words: "number" for functions that return one real number, "real" without complex arguments and results,
    "alone" for derivatives by one argument.
    """

    text: str
    order: int
    read: Callable[[Any, "Setting"], Any]
    of: str = ""
    eager: bool = False  # whether it is called with arrays alone, outside of recordings


@dataclass(frozen=True)
class Setting:
    """Directions of a program, `u` and `v` in the texts of modes, and a seed of its result, `C`.

    The parts of `u` and `v` that belong to `argnums` are `U` and `V`.
    """

    program: Program
    u: Arrays
    v: Arrays
    seed: np.ndarray

    @property
    def chosen_u(self) -> Arrays:
        return tuple(self.u[k] for k in self.program.argnums)

    @property
    def chosen_v(self) -> Arrays:
        return tuple(self.v[k] for k in self.program.argnums)


def _sum_of_products(found: Any, setting: Setting) -> Any:
    """Contract a gradient with `u`."""
    return _contracted(found, setting.chosen_u)


def _of_all(found: Any, setting: Setting) -> Any:
    """Contract cotangents of all arguments with `u`."""
    return _contracted(found, setting.u)


def _contracted(gradients: Any, directions: Arrays) -> float:
    """Return the inner product with directions; a part along which nothing moves may be infinite."""
    total = 0.0
    for gradient, direction in zip(gradients, directions, strict=True):
        g = np.asarray(gradient)
        for part, moved in ((g.real, direction.real), (g.imag, direction.imag)):
            with np.errstate(invalid="ignore"):  # of two infinities the sum is nan, which no known number is
                total += float(np.sum(np.where(moved == 0.0, 0.0, part) * moved))
    return total


def _rows(found: Any, setting: Setting) -> Any:
    """Contract a Jacobian's arrays with `u`."""
    total: Any = 0.0
    for block, u in zip(found, setting.chosen_u, strict=True):
        if scipy.sparse.issparse(block):
            total = total + (block @ u.ravel()).reshape(setting.seed.shape)
        else:
            total = total + np.tensordot(np.asarray(block), u, u.ndim)
    return total


def _both_sides(found: Any, setting: Setting) -> Any:
    """Contract the blocks of a Hessian with `u` and `v`."""
    total = 0.0
    for row, u in zip(found, setting.chosen_u, strict=True):
        for block, v in zip(row, setting.chosen_v, strict=True):
            dense = (
                block.toarray() if scipy.sparse.issparse(block) else np.asarray(block).reshape(u.size, v.size)
            )
            total = total + u.ravel() @ dense @ v.ravel()
    return total


def _itself(found: Any, setting: Setting) -> Any:
    return np.asarray(found)


def _second(found: Any, setting: Setting) -> Any:
    return found[1]


def _contract_v(found: Any, setting: Setting) -> Any:
    return _contracted(found, setting.chosen_v)


_INNER_SLOPE = "lambda *b: dot(tg.grad({f}, {A})(*b), V)"
QUANTITIES: dict[str, Quantity] = {
    "value": Quantity("{f}", 0, _itself),
    "backward": Quantity("lambda *a: backward({f}, a)", 1, _of_all, "number", True),
    "grad": Quantity("tg.grad({f}, {A})", 1, _sum_of_products, "number"),
    "value_and_grad": Quantity(
        "tg.value_and_grad({f}, {A})", 1, lambda g, s: _contracted(g[1], s.chosen_u), "number"
    ),
    "jvp": Quantity("lambda *a: tg.jvp({f}, a, u)", 1, _second),
    "vjp": Quantity("lambda *a: tg.vjp({f}, *a)[1](C)", 1, _of_all),
    "vjp of two": Quantity("lambda *a: tg.vjp({two}, *a)[1]((C, C))", 1, _of_all, "real"),
    "jacobian": Quantity("tg.jacobian({f}, {A})", 1, _rows, "real"),
    "jacobian forward": Quantity("tg.jacobian({f}, {A}, mode='forward')", 1, _rows, "real"),
    "jacobian reverse": Quantity("tg.jacobian({f}, {A}, mode='reverse')", 1, _rows, "real"),
    "jacobian sparse": Quantity("tg.jacobian({f}, {A}, sparse=True)", 1, _rows, "real", True),
    "hvp": Quantity("lambda *a: tg.hvp({f}, {A})(*a, V)", 2, _sum_of_products, "number"),
    "reverse over forward": Quantity(
        "tg.grad(lambda *b: dot((C,), (tg.jvp({f}, b, v)[1],)), {A})", 2, _sum_of_products
    ),
    "forward over reverse": Quantity(
        "lambda *a: tg.jvp(lambda *b: tg.grad({f}, {A})(*b), a, v)[1]", 2, _sum_of_products, "number"
    ),
    "reverse over reverse": Quantity(f"tg.grad({_INNER_SLOPE}, {{A}})", 2, _sum_of_products, "number"),
    "forward over forward": Quantity(
        "lambda *a: tg.jvp(lambda *b: tg.jvp({f}, b, v)[1], a, u)[1]", 2, _itself
    ),
    "hessian": Quantity("tg.hessian({f}, {A})", 2, _both_sides, "real number"),
    "hessian sparse": Quantity("tg.hessian({f}, {A}, sparse=True)", 2, _both_sides, "real number", True),
    "jacobian of grad": Quantity(
        "tg.jacobian(tg.grad({f}, {k}), {k})", 2, lambda h, s: _both_sides(((h,),), s), "real number alone"
    ),
    "grad of hvp": Quantity(
        "tg.grad(lambda *b: dot(tg.hvp({f}, {A})(*b, V), V), {A})", 3, _sum_of_products, "number"
    ),
    "jvp of hvp": Quantity(
        "lambda *a: tg.jvp(lambda *b: tg.hvp({f}, {A})(*b, V), a, u)[1]", 3, _contract_v, "number"
    ),
    "jvp of jvp of jvp": Quantity(
        "lambda *a: tg.jvp(lambda *b: tg.jvp(lambda *c: tg.jvp({f}, c, v)[1], b, v)[1], a, u)[1]", 3, _itself
    ),
    "grad of grad of grad": Quantity(
        f"tg.grad(lambda *a: dot(tg.grad({_INNER_SLOPE}, {{A}})(*a), V), {{A}})",
        3,
        _sum_of_products,
        "number",
    ),
    "hvp of jvp": Quantity(
        "lambda *a: tg.hvp(lambda *b: dot((C,), (tg.jvp({f}, b, v)[1],)), {A})(*a, V)", 3, _sum_of_products
    ),
}


@dataclass(frozen=True)
class Mode:
    """One way to compute something of a program."""

    inner: str
    quantity: str
    outer: str

    def __str__(self) -> str:
        return " | ".join((self.inner or "plain", self.quantity, self.outer or "called"))

    def text(self, argnums: tuple[int, ...]) -> str:
        """Return the definition of a function `q` of the arguments."""
        f, of_two = INNER[self.inner], "lambda *b: twice(f(*b))"
        two = f.replace("(f", f"({of_two}") if self.inner else of_two
        q = QUANTITIES[self.quantity].text.format(f=f"({f})", two=two, A=argnums, k=argnums[0])
        return _OUTER_TEXT[self.outer].format(q=q)

    @property
    def is_legal(self) -> bool:
        """Whether the library has it."""
        return not (QUANTITIES[self.quantity].eager and self.outer)


def arrays_of(setting: Setting) -> dict[str, Any]:
    """Return the arrays that the texts of modes name."""
    parts = {"u": setting.u, "v": setting.v, "U": setting.chosen_u, "V": setting.chosen_v}
    return {**parts, "C": setting.seed}


def setting_of(program: Program, value: np.ndarray) -> Setting:
    """Return the directions of a program, and a seed of its result."""
    u, v = program.directions
    seed = np.cos(np.arange(1.0, value.size + 1)).reshape(value.shape)
    if np.iscomplexobj(value):
        seed = seed + 1j * np.sin(np.arange(value.size) + 0.3).reshape(value.shape)
    return Setting(program, u, v, seed if value.ndim else seed[()])


def expected(mode: Mode, setting: Setting, oracle: Oracle, point: int) -> Estimate | None:
    """Return what a result must be by the oracle, `None` if it does not know."""
    quantity, contents = QUANTITIES[mode.quantity], 0 if mode.outer in FIXED else point
    if quantity.order == 0:
        value = oracle.value(point, contents)
        return Estimate(value, 1e-9 * max(1.0, float(np.max(np.abs(value), initial=0.0))))
    found = oracle.derivative(quantity.order, point, contents)
    if found is None or mode.quantity not in _SEEDED:
        return found
    seed = np.asarray(setting.seed)
    if mode.quantity == "vjp of two":
        seed = seed * (1 + np.cos(oracle.value(point, contents)))
    return Estimate(
        np.asarray(dot((seed,), (found.value,))), found.error * max(1.0, float(np.sum(np.abs(seed))))
    )


_WEIGHTS = {"grad": 2.0, "vjp": 2.0, "reverse over forward": 2.0}  # of quantities, 1 for most others
_SEEDED = ("vjp", "vjp of two", "reverse over forward", "hvp of jvp")


def fits(mode: Mode, program: Program, value: np.ndarray) -> bool:
    """Return whether a program has a quantity."""
    of = QUANTITIES[mode.quantity].of
    is_complex = any(map(np.iscomplexobj, program.points[0])) or np.iscomplexobj(value)
    if "number" in of and (value.ndim or np.iscomplexobj(value)):
        return False
    if QUANTITIES[mode.quantity].order > 1 and any(np.any(x == 0) for point in program.points for x in point):
        return False  # a convention where a root, or another singular function, is taken of a power
    if "rolled" in (mode.inner, mode.outer) and (is_complex or program.uses("1j", "complex", "fft", "+ 0j")):
        return False  # refused
    if "alone" in of and len(program.argnums) > 1:
        return False
    return mode.is_legal and not ("real" in of and is_complex)


def all_modes() -> Iterator[Mode]:
    """Yield every legal mode."""
    for parts in itertools.product(INNER, QUANTITIES, OUTER):
        if Mode(*parts).is_legal:
            yield Mode(*parts)


def _recorded(program: Program) -> str:
    """Return how a program with a loop is recorded first, nothing for others."""
    if program.uses("for i in"):
        return "rolled"
    return "jit" if program.uses("scan(", "fori_loop(", "while_loop(") else ""


def draw_modes(rng: np.random.Generator, program: Program, value: np.ndarray, count: int) -> list[Mode]:
    """Return some modes that a program has, plain Python loops rather rolled up; first a gradient of a loop."""
    loop = Mode(_recorded(program), str(rng.choice(["grad", "vjp"])), "")
    found: list[Mode] = [loop] if loop.inner and fits(loop, program, value) else []
    quantities = list(QUANTITIES)
    weights = np.array(
        [_WEIGHTS.get(name, (1.0, 1.0, 1.0, 0.4)[each.order]) for name, each in QUANTITIES.items()]
    )
    # Fused programs compile for long, and rolling is for loops of Python
    inner, chance, called = list(INNER), [0.42, 0.42, 0.12, 0.0, 0.04], [0.5, 0.22, 0.04, 0.0, 0.21, 0.03]
    if program.uses("for i in"):
        chance, called = [0.2, 0.15, 0.1, 0.5, 0.05], [0.48, 0.1, 0.05, 0.12, 0.21, 0.04]
    for _ in range(40):
        if len(found) >= count:
            break
        quantity = str(rng.choice(quantities, p=weights / weights.sum()))
        outer = "" if QUANTITIES[quantity].eager else str(rng.choice(OUTER, p=called))
        mode = Mode(str(rng.choice(inner, p=chance)), quantity, outer)
        if mode not in found and fits(mode, program, value):
            found.append(mode)
    return found

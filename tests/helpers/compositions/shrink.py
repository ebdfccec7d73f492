"""Shrinking of programs that fail: statements, expressions and iterations go as long as the failure stays.

A candidate is a smaller syntax tree. It is taken if plain NumPy runs it, and the same mode fails in the same way.
"""

import ast
import copy
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from helpers.compositions.check import Finding, check_program
from helpers.compositions.modes import arrays_of, setting_of
from helpers.compositions.program import Program


def shrink(finding: Finding, seconds: float = 20.0, tries: int = 10**6) -> Finding:
    """Return a finding of the same kind whose program is smaller, after so many seconds or tries at most."""
    deadline = time.monotonic() + seconds
    progress = True
    while progress and tries > 0:
        progress = False
        for candidate in _candidates(finding.program):
            smaller, tries = _same_failure(finding, candidate), tries - 1
            if smaller:
                finding, progress = smaller, True
                break
            if time.monotonic() > deadline or tries <= 0:
                return finding
    return finding


def _same_failure(finding: Finding, program: Program) -> Finding | None:
    try:
        values = [program.reference(point, k) for k, point in enumerate(program.points)]
        before = finding.program.reference(finding.program.points[0], 0)
        if not all(np.all(np.isfinite(value)) and _is_alike(value, before) for value in values):
            return None
        found = check_program(program, 0, modes=[finding.mode])
    except Exception:  # no program any more
        return None
    return found if found and found.kind == finding.kind else None


def _is_alike(value: np.ndarray, before: np.ndarray) -> bool:
    return value.dtype == before.dtype and bool(value.ndim) == bool(before.ndim)


def _candidates(program: Program) -> Iterator[Program]:
    """Yield smaller programs, those that lose most first."""
    tree = ast.parse(program.text)
    size = len(ast.unparse(tree))
    for k in reversed(range(len(program.points))):
        if len(program.points) > 1:
            yield replace(
                program, points=_without(program.points, k), constants=_without(program.constants, k)
            )
    for mutate in (
        _without_statements,
        _without_second_names,
        _with_parts_of_expressions,
        _with_smaller_numbers,
    ):
        for candidate in mutate(tree):
            text = ast.unparse(ast.fix_missing_locations(candidate)) + "\n"
            if len(text) < size or mutate is _with_smaller_numbers:
                yield replace(program, text=text)


def _without(items: object, k: int) -> list:  # type: ignore[type-arg]
    return [item for j, item in enumerate(items) if j != k]  # type: ignore[var-annotated, arg-type]


def _without_statements(tree: ast.Module) -> Iterator[ast.Module]:
    """Yield trees without one statement, or with the body of a block in its place."""
    for number, (owner, name, k) in enumerate(_statements(tree)):
        statement = getattr(owner, name)[k]
        if isinstance(statement, ast.Return) or (owner is tree):
            continue
        bodies: list[list[ast.stmt]] = [[]]
        if isinstance(statement, ast.If):
            bodies += [statement.body, statement.orelse]
        for body in bodies:
            found = copy.deepcopy(tree)
            place, _, _ = [*_statements(found)][number]
            getattr(place, name)[k : k + 1] = copy.deepcopy(body)
            if getattr(place, name) or name == "orelse":
                yield found


def _without_second_names(tree: ast.Module) -> Iterator[ast.Module]:
    """Yield trees without an assignment of a name to another one, which has the first one everywhere then."""
    for number, (owner, name, k) in enumerate(_statements(tree)):
        statement = getattr(owner, name)[k]
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name):
            target, source = statement.targets[0], statement.value.id
            found = copy.deepcopy(tree)
            place, _, _ = [*_statements(found)][number]
            del getattr(place, name)[k]
            for node in ast.walk(found):
                if isinstance(node, ast.Name) and isinstance(target, ast.Name) and node.id == target.id:
                    node.id = source
            yield found


def _statements(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int]]:
    """Yield where each statement stands, the last ones first."""
    found = []
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list):
                found += [(node, name, k) for k in range(len(body))]
    yield from reversed(found)


def _with_parts_of_expressions(tree: ast.Module) -> Iterator[ast.Module]:
    """Yield trees in which an expression is replaced by one of its parts, or by a number."""
    count = sum(1 for _ in _expressions(tree))
    for number in range(count):
        _, _, _, node = _nth(tree, number)
        parts: list[ast.expr] = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
        parts = [
            part
            for part in parts
            if not isinstance(part, ast.Attribute | ast.Slice) or not _is_function(part)
        ]
        if not isinstance(node, ast.Constant | ast.Name):
            parts.append(ast.Constant(1.0))
        for part in parts:
            found = copy.deepcopy(tree)
            owner, name, k, _ = _nth(found, number)
            _put(owner, name, k, copy.deepcopy(part))
            yield found


def _is_function(node: ast.expr) -> bool:
    return ast.unparse(node).startswith("np.")


def _nth(tree: ast.AST, number: int) -> tuple[ast.AST, str, int | None, ast.expr]:
    return next(place for k, place in enumerate(_expressions(tree)) if k == number)


def _expressions(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.expr]]:
    """Yield expressions with what they are a field of, outer ones first."""
    for owner in ast.walk(tree):
        if isinstance(owner, ast.arguments):
            continue
        for name, value in ast.iter_fields(owner):
            if name in ("func", "target", "targets"):
                continue
            if isinstance(value, ast.expr) and not isinstance(value, ast.Slice):
                yield owner, name, None, value
            elif isinstance(value, list):
                yield from (
                    (owner, name, k, each) for k, each in enumerate(value) if isinstance(each, ast.expr)
                )


def _put(owner: ast.AST, name: str, k: int | None, part: ast.expr) -> None:
    if k is None:
        setattr(owner, name, part)
    else:
        getattr(owner, name)[k] = part


def _with_smaller_numbers(tree: ast.Module) -> Iterator[ast.Module]:
    """Yield trees with fewer iterations."""
    for number, node in enumerate(ast.walk(tree)):
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value > 4:
            found = copy.deepcopy(tree)
            smaller = next(each for k, each in enumerate(ast.walk(found)) if k == number)
            assert isinstance(smaller, ast.Constant)
            smaller.value = node.value - 1
            yield found


# --- scripts ---------------------------------------------------------------------------------------------------------

_HEAD = """import numpy as np
import tapegrad as tg
from tapegrad import cond, fori_loop, grad, hvp, jvp, scan, vmap, while_loop

twice = lambda y: (y, np.sin(y))
dot = lambda a, b: sum(np.sum(np.real(np.conj(x) * y)) for x, y in zip(a, b))
"""
_BACKWARD = """
def backward(f, a):
    leaves = [tg.tensor(x) for x in a]
    f(*leaves).backward()
    return [t.grad for t in leaves]

"""


def script(finding: Finding) -> str:
    """Return a script of the library's side of a finding, which runs by itself."""
    program, point = finding.program, max(finding.point, 0)
    setting = setting_of(program, program.reference(program.points[0], 0))
    arrays = arrays_of(setting)
    text = finding.mode.text(program.argnums)
    lines = [_HEAD, *([_BACKWARD] if "backward(" in text else [])]
    lines += [
        f"{name} = {_literal(array)}"
        for name, array in program.constants[point].items()
        if name in program.text
    ]
    lines += ["", program.text, f"points = {_literal([tuple(point) for point in program.points])}"]
    lines += [f"{name} = {_literal(value)}" for name, value in arrays.items() if _is_word(name, text)]
    lines.append(text)
    if finding.mode.outer == "vmap":
        lines.append("print(q(*(np.stack(x) for x in zip(*points * 3))))")
    else:
        lines.append("for x in [*points, points[0]]:\n    print(q(*(a[()] for a in x)))")
    lines.append(
        f"# at point {point}: {finding.kind}: {finding.found}\n# not {finding.wanted}".replace("\n", "\n# ")
    )
    return "\n".join(lines) + "\n"


def _is_word(name: str, text: str) -> bool:
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    return name in names


def _literal(value: object) -> str:
    if isinstance(value, tuple | list):
        inner = ", ".join(map(_literal, value))
        return f"({inner},)" if isinstance(value, tuple) else f"[{inner}]"
    array = np.asarray(value)
    dtype = "" if array.dtype in (np.float64, np.complex128) else f", np.{array.dtype}"
    return f"np.array({array.tolist()}{dtype})"

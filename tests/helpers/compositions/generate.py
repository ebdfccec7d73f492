"""Random programs: swarm testing (Groce et al. 2012), where each program uses a few features often.

`generate` draws arguments, features and statements from a seed.
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from helpers.compositions.blocks import BLOCKS, draw_block
from helpers.compositions.draw import Scope, indented, is_moderate, plain_namespace, run
from helpers.compositions.program import NUMPY, Arrays, Program
from helpers.compositions.templates import FEATURES

_SHAPES = [(), (3,), (4,), (5,), (8,), (3, 3), (2, 2), (4, 3), (2, 3), (2, 3, 2), (1, 3), (16,)]
_EXACT = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -4.0]
_WEIGHTS = {"loop": 3.0, "scan": 2.0}  # of blocks, 1 for the others
_NAMES = ("x", "y", "z")


def generate(
    seed: int, features: tuple[str, ...] = (), without: tuple[str, ...] = (), *, vector_of: int = 0
) -> Program:
    """Return the program of a seed, of these features if there are any, but for some.

    With `vector_of` its result is a vector, and it has so many statements. Two features have none: of programs with
    "three" arguments, and of those with "empties" the first argument has no elements.
    """
    for attempt in itertools.count():
        rng = np.random.default_rng([seed, attempt])
        chosen = features or tuple(name for name in _features(rng) if name not in without)
        program = _attempt(rng, seed, chosen, vector_of) if chosen else None
        if program is not None:
            return program
    raise AssertionError


def _attempt(
    rng: np.random.Generator, seed: int, features: tuple[str, ...], vector_of: int
) -> Program | None:
    arguments = _arguments(rng, features)
    constants = _constants(rng, features)
    scope = Scope(rng, features, plain_namespace(arguments, constants), list(arguments))
    _statements(scope, vector_of or int(rng.integers(3, 17)))
    text = _text(scope, list(arguments), bool(vector_of))
    is_single = "single" in features and rng.random() < 0.4
    return _program(rng, text, scope, (arguments, constants), seed, is_single)


def _features(rng: np.random.Generator) -> tuple[str, ...]:
    plain = [name for name in FEATURES if name != "elementwise"]
    chosen = rng.choice(plain, int(rng.integers(1, 5)), replace=False).tolist()
    if rng.random() < 0.5:
        chosen.append("elementwise")
    if rng.random() < 0.2:
        chosen.append("writes")
    if rng.random() < 0.35:
        kinds = np.array([_WEIGHTS.get(kind, 1.0) for kind in BLOCKS])
        count = int(rng.choice([1, 1, 2]))
        chosen += rng.choice(list(BLOCKS), count, replace=False, p=kinds / kinds.sum()).tolist()
    if {"cuts", "spectra"} & {*chosen}:
        chosen.append("complex")
    return tuple(dict.fromkeys(chosen))


def _arguments(rng: np.random.Generator, features: tuple[str, ...]) -> dict[str, np.ndarray]:
    count = 3 if "three" in features else int(rng.choice([1, 1, 2, 3]))
    base = _SHAPES[int(rng.integers(len(_SHAPES)))]
    shapes = [base, *[_SHAPES[int(k)] for k in rng.integers(len(_SHAPES), size=2)]]
    if "empties" in features:
        shapes[0] = (0, 3)
    elif rng.random() < 0.3:
        shapes[0] = (int(rng.choice([8, 16, 18])),)
    is_exact = "cuts" in features and rng.random() < 0.7
    found = {}
    for name, shape in zip(_NAMES[:count], shapes, strict=False):
        is_complex = bool({"complex", "cuts", "spectra"} & {*features}) and rng.random() < 0.6
        found[name] = _array(rng, shape, is_complex, is_exact)
    return found


def _array(rng: np.random.Generator, shape: tuple[int, ...], is_complex: bool, is_exact: bool) -> np.ndarray:
    if is_complex:
        found = np.empty(shape, complex)
        found.real, found.imag = (_array(rng, shape, False, is_exact) for _ in range(2))
        if is_exact:  # on the real axis, from above or below, and not at zero, where roots have no derivative
            found.real, found.imag = np.where(found.real == 0, 1.5, found.real), found.imag * 0.0
        return found
    if is_exact:
        return np.asarray(rng.choice(_EXACT, shape))
    return np.asarray(np.round(rng.uniform(-1.6, 1.6, shape), 3))


def _constants(rng: np.random.Generator, features: tuple[str, ...]) -> dict[str, np.ndarray]:
    if "constants" not in features and rng.random() < 0.8:
        return {}
    return {f"K{k}": _array(rng, (int(rng.choice([3, 4, 5, 8])),), False, False) for k in range(2)}


def _statements(scope: Scope, count: int) -> None:
    blocks = 2
    for _ in range(5 * count):
        if count <= 0:
            return
        feature = str(scope.choose(scope.features))
        if feature in BLOCKS and blocks:
            blocks -= draw_block(scope, feature)
        elif feature in FEATURES:
            count -= scope.draw_statement(feature)


def _text(scope: Scope, arguments: list[str], is_vector: bool) -> str:
    """Return the function: its result takes in what no other statement reads, and some other values."""
    rng = scope.rng
    names = [name for name in scope.names if name not in arguments] or scope.names
    unread = [name for name in names if not scope.is_read(name)]
    used = list(dict.fromkeys([*unread, str(scope.choose(names)), names[-1]]))
    is_number = rng.random() < 0.65 and not is_vector
    result = " + ".join(_number_of(scope, name) for name in used) if is_number else _vector_of(scope, used)
    return (
        "\n".join([f"def f({', '.join(arguments)}):", *indented([*scope.lines, f"return {result}"])]) + "\n"
    )


def _number_of(scope: Scope, name: str) -> str:
    value = scope.values[name]
    if np.iscomplexobj(value):
        options = [
            "np.sum(np.abs({0}) ** 2)",
            "np.sum({0}.real) - np.sum({0}.imag)",
            "np.sum(({0} * (0.7 - 0.4j)).real)",
        ]
    else:
        options = ["np.sum({0})", "np.sum({0} ** 2)", "np.sum(np.sin({0}))", "np.sum({0}) * 0.5"]
        if np.ndim(value):
            options += [f"np.dot(np.linspace(0.5, 1.5, {value.size}), np.ravel({{0}}))"] * 4
    return str(scope.choose(options)).format(name)


def _vector_of(scope: Scope, names: list[str]) -> str:
    if len(names) == 1 or scope.rng.random() < 0.3:
        return str(scope.choose([f"{names[-1]}", f"{names[-1]} * 0.5"]))
    return f"np.concatenate([{', '.join(f'np.ravel({name})' for name in names)}])"


def _program(
    rng: np.random.Generator,
    text: str,
    scope: Scope,
    arrays: tuple[dict[str, np.ndarray], dict[str, np.ndarray]],
    seed: int,
    is_single: bool,
) -> Program | None:
    """Return the program with further points at which it can be computed, or `None`."""
    base, constants = tuple(arrays[0].values()), arrays[1]
    points = [base, *(tuple(_varied(rng, x, 0.4 * k) for x in base) for k in range(2))]
    contents = [constants, *({name: x * (0.7 + 0.6 * k) for name, x in constants.items()} for k in range(2))]
    argnums = _argnums(rng, base)
    directions = (_direction(rng, base, argnums), _direction(rng, base, argnums))
    if is_single:
        points = [tuple(map(_single, point)) for point in points]
        directions = (tuple(map(_single, directions[0])), tuple(map(_single, directions[1])))
    program = Program(text, points, contents, directions, is_single, seed, argnums)
    fine = [k for k in range(3) if _is_fine(program, k, scope, tuple(arrays[0]))]
    chosen = {"points": [points[k] for k in fine], "constants": [contents[k] for k in fine]}
    return replace(program, **chosen) if 0 in fine else None


def _is_fine(program: Program, k: int, scope: Scope, names: Sequence[str]) -> bool:
    """Return whether all values at a point are moderate, and the result has the shape that it has at the first one."""
    try:
        values = plain_namespace(dict(zip(names, program.points[k], strict=True)), program.constants[k])()
        run("\n".join(scope.lines), values)
        first, value = (program.reference(program.points[j], j) for j in (0, k))
    except Exception:  # another branch fails
        return False
    own = [each for name, each in values.items() if name not in NUMPY]
    return (
        all(is_moderate(each, scope.min_elements) for each in own)
        and value.shape == first.shape
        and _is_small(value)
    )


def _is_small(value: np.ndarray) -> bool:
    return value.size <= 200 and value.dtype.kind in "fc" and bool(np.all(np.abs(value) < 1e5))


def _varied(rng: np.random.Generator, x: np.ndarray, extent: float) -> np.ndarray:
    signs = rng.choice([0.7, 1.0, 1.2, -0.8], np.shape(x)) if extent else 0.8
    return np.asarray(x * signs + extent * np.round(rng.uniform(-1, 1, np.shape(x)), 3))


def _direction(rng: np.random.Generator, arguments: Arrays, argnums: tuple[int, ...]) -> Arrays:
    """Return random directions, zero for arguments not differentiated by; complex arrays on a cut move along it."""
    found = []
    for k, x in enumerate(arguments):
        d = np.round(rng.uniform(-1, 1, np.shape(x)), 2)
        if np.iscomplexobj(x) and np.any(x.imag):
            d = d + 1j * np.round(rng.uniform(-1, 1, np.shape(x)), 2)
        elif np.iscomplexobj(x):
            d = d + 0j
        found.append(np.asarray(d if k in argnums else 0.0 * d))
    return tuple(found)


def _argnums(rng: np.random.Generator, arguments: Arrays) -> tuple[int, ...]:
    if rng.random() < 0.7:
        return tuple(range(len(arguments)))
    return (int(rng.integers(len(arguments))),)


def _single(x: np.ndarray) -> np.ndarray:
    return x.astype(np.complex64 if np.iscomplexobj(x) else np.float32)

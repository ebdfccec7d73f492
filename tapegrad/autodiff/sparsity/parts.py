"""Parts of complex numbers: the inputs that each part of an instruction's complex result depends on.

Parts are elements of their own: the numbers of sets of complex elements have a last axis of two. Where an instruction
moves complex numbers, or adds them, a part of the result depends on that part of the operands; otherwise on both.
"""

import math
from collections.abc import Sequence

import numpy as np

from tapegrad.autodiff.rules.step import SweepStep
from tapegrad.autodiff.sparsity.rules import Dependence, rule_of
from tapegrad.autodiff.sparsity.sets import EMPTY, SetPool
from tapegrad.ops import PRIMALS, Op, names_in

Numbers = Sequence[np.ndarray | None]


def dependences_of_parts(step: SweepStep, pool: SetPool, numbers: Numbers, memory: Numbers) -> np.ndarray:
    """Return the number of each element of an instruction's result; of complex numbers along a last axis, of each part.

    Parameters
    ----------
    step
        The instruction, through which something flows.
    pool
        The sets.
    numbers, memory
        As of `Dependence`, for the parts of complex operands.
    """
    view = step.view(-1)
    is_complex = view.dtype.kind == "c"
    if not view.size:
        return np.zeros((*view.shape, 2) if is_complex else view.shape, np.int64)
    united = [
        pool.unite(each[..., 0], each[..., 1]) if each is not None and _is_complex(step, j) else each
        for j, each in enumerate(numbers)
    ]
    mixed = [own if not is_complex or _mixes_parts(step, j) else None for j, own in enumerate(united)]
    if all(own is None or each is not None for own, each in zip(united, mixed, strict=True)):
        found = rule_of(step.row)(Dependence(step, pool, united, memory))
        return np.broadcast_to(found[..., None], (*found.shape, 2)) if is_complex else found
    return np.stack([_of_part(step, pool, part, numbers, mixed, memory) for part in (0, 1)], -1)


def _of_part(
    step: SweepStep, pool: SetPool, part: int, numbers: Numbers, mixed: Numbers, memory: Numbers
) -> np.ndarray:
    """Return the number of one part of each element of a complex result.

    `mixed` has the numbers of operands that reach both parts; of others, `numbers`, each part reaches its own.
    """
    own = [
        of_both if of_both is not None or each is None else _numbers_of_part(step, j, each, part)
        for j, (of_both, each) in enumerate(zip(mixed, numbers, strict=True))
    ]
    if all(each is None for each in own):
        return np.full(step.view(-1).shape, EMPTY, np.int64)
    places = [
        each[part:] if each is not None and _is_complex(step, j) else each for j, each in enumerate(memory)
    ]
    return rule_of(step.row)(Dependence(step, pool, own, places))


def _numbers_of_part(step: SweepStep, operand: int, numbers: np.ndarray, part: int) -> np.ndarray | None:
    """Return the numbers of a part of an operand; a real one has no imaginary part."""
    if _is_complex(step, operand):
        return numbers[..., part]
    return numbers if part == 0 else None


def _is_complex(step: SweepStep, operand: int) -> bool:
    return step.view(operand).dtype.kind == "c"


def _mixes_parts(step: SweepStep, operand: int) -> bool:
    """Return whether a part of the result may depend on the other part of an operand.

    A partial that is a real number keeps them apart. One that is computed might be infinite: times a complex zero that
    is zero, but times a complex number with one part of zero it is NaN in both.
    """
    row = step.row
    if not isinstance(row, Op):
        return not row.linear
    texts = [each[operand] for each in (row.partials_of("c128"), row.conjugate_partials) if each]
    return any(
        "1j" in text or not all(_is_finite(step, row, name) for name in names_in(text) & PRIMALS)
        for text in texts
    )


def _is_finite(step: SweepStep, row: Op, name: str) -> bool:
    """Return whether a primal is a condition, or a finite real number that is the same in all replays."""
    if name == "y":
        return False
    operand = int(name[1])
    number = step.geometry(step.operands[operand]).number
    return operand in row.boolean_operands or (number is not None and math.isfinite(number))

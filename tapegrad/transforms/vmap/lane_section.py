"""`vmap` within a recording: all instances as instructions of it, so that a replay runs no Python.

The function is called once, with Tensors that stand for one instance. The instructions that it records are appended
over lanes, and its guards hold for all instances: they take the same branches.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.frontend.recording.record_structural import as_tensor
from tapegrad.frontend.recording.shape import broadcast_to, contiguous, moveaxis
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.ops import CODES
from tapegrad.program.lanes.within import NoInstruction, Section
from tapegrad.program.recording.calling import call
from tapegrad.program.recording.recording import Guard, RecordedTape
from tapegrad.pytree import flatten
from tapegrad.transforms.vmap.mapped_axes import Mapped, repeated

_TRUTH = CODES["truth_guard"]


def as_instructions(function: Callable[..., Any], mapped: Mapped) -> tuple[list[Any], Any] | None:
    """Record all instances. Return the leaves of the results, instances first, and their structure.

    `None` if instances take different branches, or an op has no instruction for all of them.
    """
    recorder = thread.mode.recorder
    assert isinstance(recorder, RecordedTape)
    wholes = [None if stack is None else as_tensor(stack, "vmap") for stack in mapped.stacks]
    if any(whole is not None and whole.dtype not in DTYPE_CODES for whole in wholes):
        return None
    pairs = [None if whole is None else _stand_in(recorder, whole) for whole in wholes]
    firsts = [None if pair is None else pair[0] for pair in pairs]
    section = Section(recorder, {pair[0]._slot: pair[1] for pair in pairs if pair is not None})
    leaves, definition, guards = _instance(recorder, function, *mapped.with_parts(firsts))
    slots = {k: leaf._slot_on(recorder) for k, leaf in enumerate(leaves) if _is_computed(leaf)}
    try:
        found = section.over_lanes([*slots.values(), *(guard.slot for guard in guards)], mapped.size)
    except NoInstruction:
        return None
    if not _guarded(recorder, guards, found):
        return None
    columns = [found.get(slots.get(k, -1)) for k in range(len(leaves))]
    of_all = [_of_all(leaf, column, mapped.size) for leaf, column in zip(leaves, columns, strict=True)]
    return of_all, definition


def _stand_in(recorder: RecordedTape, whole: Tensor) -> tuple[Tensor, Tensor]:
    """Return a Tensor that stands for the first instance, and all instances with lanes last."""
    first = np.array(whole.data_or_traced()[0])
    return recorder.stand_in(first), contiguous(moveaxis(whole, 0, -1))


def _instance(
    recorder: RecordedTape, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], Any, list[Guard]]:
    """Call the function for an instance. Return leaves and structure of the result, and its unrecorded guards."""
    guards: list[Guard] = []
    try:
        with recorder.postponing_guards() as guards:
            leaves, definition = flatten(call(function, args, kwargs))
    except BaseException:
        for guard in guards:
            recorder.guard(*guard)
        raise
    return leaves, definition, guards


def _guarded(recorder: RecordedTape, guards: list[Guard], found: dict[int, Tensor]) -> bool:
    """Record the guards in their order, guards of batched values for all instances.

    Return whether the guards hold for all instances now; if not, record none.
    """
    every = [_for_all(guard, found[guard.slot]) if guard.slot in found else None for guard in guards]
    if any(one is not None and one[0].data_or_traced().tobytes() != one[1].tobytes() for one in every):
        return False
    for guard, one in zip(guards, every, strict=True):
        if one is None:
            recorder.guard(*guard)
        else:
            dtype, slot = DTYPE_CODES[one[0].dtype], one[0]._slot_on(recorder)
            recorder.guard_bytes(dtype, slot, one[1], guard.line)
    return True


def _for_all(guard: Guard, values: Tensor) -> tuple[Tensor, np.ndarray]:
    """Return the operand of a guard for all instances, given it with lanes last, and its expected value."""
    by_instance = contiguous(moveaxis(values, -1, 0))
    count = by_instance.shape[0]
    if guard.code != _TRUTH:
        return by_instance, np.frombuffer(guard.outcome * count, np.uint8)
    truths: Any = by_instance if by_instance.dtype == np.bool_ else by_instance != 0
    return truths, np.full(count, guard.params.truth != 0)


def _of_all(leaf: Any, column: Tensor | None, count: int) -> Any:
    """Return a result of all instances, given that of one, and its batched value with lanes last if it has one."""
    if column is not None:
        return moveaxis(column, -1, 0)
    if _is_computed(leaf):
        return broadcast_to(leaf, (count, *leaf.shape))
    return repeated(leaf.data_or_traced() if is_tensor(leaf) else leaf, count)


def _is_computed(leaf: Any) -> bool:
    """Return whether a result is a Tensor of a dtype that a recording can compute; others are constants."""
    return is_tensor(leaf) and leaf.dtype in DTYPE_CODES

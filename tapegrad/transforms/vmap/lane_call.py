"""Calls of `vmap` with arrays: instances that share a recording are computed together, until none is pending."""

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from tapegrad.engine.inspection.tape_view import epsilon_of, read_tape
from tapegrad.program.lanes.pool import LanePrograms
from tapegrad.pytree import flatten
from tapegrad.transforms.calling.certified import check_lanes, is_certified
from tapegrad.transforms.vmap.lane_goals import Goal, Instance, OutputSlot
from tapegrad.transforms.vmap.mapped_axes import Mapped, repeated

# If fewer than one in 32 instances share the branch of the first, each is computed alone.
_MIN_PER_BRANCH = 32


class LaneCall:
    """Call of a batch of instances.

    Parameters
    ----------
    goal
        Goal of the batch.
    mapped
        Arguments of the call.
    known
        Instance of an earlier call with the same cache key, if there is one.

    Attributes
    ----------
    instance
        Instance whose recording has computed the whole batch; `None` if several recordings have.
    """

    def __init__(self, goal: Goal, mapped: Mapped, known: Instance | None = None) -> None:
        self._goal, self._mapped = goal, mapped
        self._known = known
        self.instance: Instance | None = None
        self._collected = _Collected(mapped.size)
        self._inputs: list[Any] = []  # array of all instances for each input, of the last recording

    def results(self) -> tuple[list[Any], Any] | None:
        """Compute all instances. Return the leaves of the results, instances first, and their structure.

        `None` if the goal has no program, or if hardly two instances take the same branches.
        """
        if any(_is_beyond_int64(stack) for stack in self._mapped.stacks):
            return None
        pending = np.arange(self._mapped.size)
        while len(pending):
            instance, is_first = self._like_first(pending)
            if instance is None:
                return None
            arrays, failed = self._run(instance, pending)
            if not failed.any() and len(pending) == self._mapped.size:
                self.instance = instance
            if failed[0] and is_first:  # a kernel stopped for another instance of the block
                for array, result in zip(arrays, instance.results, strict=True):
                    array[0] = result
                failed[0] = False
            self._collect(instance, arrays, pending, ~failed)
            if len(pending) >= _MIN_PER_BRANCH and failed.sum() > len(pending) * (1 - 1 / _MIN_PER_BRANCH):
                return None
            pending = pending[failed]
        return self._collected.leaves, self._collected.definition

    def _like_first(self, pending: np.ndarray) -> tuple[Instance | None, bool]:
        """Return an instance whose recording may compute the pending ones, and whether it is the first of them."""
        known, self._known = self._known, None
        if known is not None:
            return self._with_arrays(known), False
        return self._computed(int(pending[0])), True

    def _computed(self, number: int, epsilon: float = 0.0) -> Instance | None:
        """Compute an instance alone, its inputs changed by `epsilon`; the message of an exception gets its number."""
        parts = [None if stack is None else stack[number] for stack in self._mapped.stacks]
        try:
            return self._goal.instance(
                *self._mapped.with_parts(_rounded(parts, epsilon) if epsilon else parts)
            )
        except (np.linalg.LinAlgError, IndexError) as error:
            error.args = (f"{error} (vmap: instance {number} of {self._mapped.size})",)
            raise

    def _with_arrays(self, known: Instance) -> Instance:
        """Return a known instance with the unbatched arrays of this call."""
        arguments = known.arguments
        arrays = list(arguments.arrays)
        for leaf, stack, start in zip(
            self._mapped.leaves, self._mapped.stacks, arguments.starts, strict=False
        ):
            k = arguments.positions[start]
            if stack is None and k >= 0:
                arrays[k] = np.ascontiguousarray(leaf, arrays[k].dtype)
        return known._replace(arguments=replace(arguments, arrays=arrays))

    def _run(self, instance: Instance, pending: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Run the program of an instance for all pending ones. Return the results, and a mask of failed instances."""
        trace, spec = instance.trace, instance.spec
        stacks = self._inputs = self._stacks(instance)
        count = len(instance.arguments.arrays)
        batched = tuple(stack is not None or k in spec.wrt for k, stack in enumerate(stacks[:count]))
        programs = trace.over_lanes.get((spec, batched))
        if programs is None:
            programs = trace.over_lanes.setdefault((spec, batched), LanePrograms(trace, spec, batched))
        given = self._given(instance, stacks, pending)
        results, failed = programs.run(given, len(pending))
        found = [
            array.astype(result.dtype, copy=False)
            for array, result in zip(results, instance.results, strict=True)
        ]
        if is_certified(self._goal.recorded.certify) and not programs.certified and not failed[-1]:
            self._certify(instance, [array[-1] for array in found], int(pending[-1]))
            programs.certified = True
        return found, failed

    def _certify(self, instance: Instance, results: list[np.ndarray], number: int) -> None:
        """Hold the results of an instance over lanes against those of the instance by itself."""
        alone = self._computed(number)
        if alone is not None and alone.trace is instance.trace:
            trace = instance.trace
            epsilon = epsilon_of(read_tape(trace.recording))
            near = functools.partial(self._near, trace, number, epsilon)
            check_lanes(trace.name, number, results, alone.results, epsilon, near)

    def _near(self, trace: Any, number: int, epsilon: float) -> list[np.ndarray] | None:
        """Return the results of an instance whose inputs are rounded otherwise; `None` on another branch."""
        near = self._computed(number, epsilon)
        return near.results if near is not None and near.trace is trace else None

    def _given(self, instance: Instance, stacks: list[Any], pending: np.ndarray) -> list[np.ndarray]:
        """Return the arrays of the pending instances for the program: inputs, then directions."""
        inputs = instance.arguments.arrays
        arrays = [*inputs, *instance.given]
        repeated_inputs = {*instance.spec.wrt, *range(len(inputs), len(arrays))}
        found = []
        for k, (stack, array) in enumerate(zip(stacks, arrays, strict=True)):
            if stack is not None:
                found.append(_chosen(stack, array, pending, self._mapped.size))
            elif k in repeated_inputs:
                found.append(np.broadcast_to(array, (len(pending), *array.shape)))
            else:
                found.append(array)
        return found

    def _stacks(self, instance: Instance) -> list[Any]:
        """Return the array of all instances for each input and direction, `None` for an unbatched one.

        Raises
        ------
        TypeError
            If an argument that is mapped over is static.
        """
        arguments, mapped = instance.arguments, self._mapped
        found: list[Any] = [None] * len(arguments.arrays)
        starts = [*arguments.starts, len(arguments.positions)]
        number, first = 0, 0  # of the argument, and of its first leaf
        for k, count in enumerate(mapped.counts):
            stacks = mapped.stacks[first : first + count]
            first += count
            if self._goal.directions and k == mapped.positional - 1:
                found += stacks
                continue
            positions = arguments.positions[starts[number] : starts[number + 1]]
            positions = positions if len(positions) == count else [-1] * count
            number += 1
            for position, stack in zip(positions, stacks, strict=True):
                if stack is not None and position < 0:
                    raise TypeError(f"vmap: argument {k} is static, and cannot be mapped over")
                if stack is not None:
                    found[position] = stack
        return found

    def _collect(
        self, instance: Instance, arrays: list[np.ndarray], pending: np.ndarray, done: np.ndarray
    ) -> None:
        """Collect the results of the instances that are done."""
        slots, definition = flatten(instance.value)
        stacks, leaves = self._inputs, []
        for slot in slots:
            if not isinstance(slot, OutputSlot):
                leaves.append(repeated(instance.trace.renewed(slot), len(pending)))
            elif not slot.is_input:
                leaves.append(arrays[slot.number])
            elif stacks[slot.number] is None:
                array = instance.arguments.arrays[slot.number]
                leaves.append(repeated(array.astype(slot.dtype)[()], len(pending)))
            else:
                leaves.append(stacks[slot.number][pending].astype(slot.dtype))
        self._collected.put(leaves, definition, pending, done)


def _is_beyond_int64(stack: Any) -> bool:
    return stack is not None and stack.dtype == np.uint64 and bool((stack >= 1 << 63).any())


def _chosen(stack: np.ndarray, like: np.ndarray, pending: np.ndarray, count: int) -> np.ndarray:
    """Return the pending instances in C order, in the dtype of `like`."""
    chosen = stack if len(pending) == count else stack[pending]
    return np.ascontiguousarray(chosen, like.dtype)


def _rounded(parts: list[Any], epsilon: float) -> list[Any]:
    """Return parts of leaves, floats among them changed by a relative `epsilon`."""
    rng, found = np.random.default_rng(0), []
    for part in parts:
        if part is not None and part.dtype.kind in "fc":
            part = part * (1 + epsilon * rng.choice([-1, 1], part.shape)).astype(part.dtype)
        found.append(part)
    return found


class _Collected:
    """Results of all instances, from one recording or several."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.leaves: list[Any] = []
        self.definition: Any = None
        self._begun = False

    def put(self, leaves: list[Any], definition: Any, pending: np.ndarray, done: np.ndarray) -> None:
        """Add the results of the pending instances that are done."""
        if len(pending) == self._size and done.all():
            self.leaves, self.definition = leaves, definition
            return
        if not self._begun:
            self.leaves = [self._room(leaf) for leaf in leaves]
            self.definition, self._begun = definition, True
        if definition != self.definition:
            raise ValueError("vmap: some instances return another structure than others")
        self.leaves = [
            self._filled(room, leaf, pending, done) for room, leaf in zip(self.leaves, leaves, strict=True)
        ]

    def _room(self, leaf: Any) -> Any:
        return np.empty((self._size, *leaf.shape[1:]), leaf.dtype) if isinstance(leaf, np.ndarray) else leaf

    def _filled(self, room: Any, leaf: Any, pending: np.ndarray, done: np.ndarray) -> Any:
        """Return `room`, widened to the dtype of both, with the results of the instances that are done."""
        if not isinstance(room, np.ndarray) or not isinstance(leaf, np.ndarray):
            if room is leaf or (type(room) is type(leaf) and room == leaf):
                return room
            raise ValueError(f"vmap: some instances return {room!r}, others {leaf!r}")
        if room.shape[1:] != leaf.shape[1:]:
            raise ValueError(
                f"vmap: some instances return shape {room.shape[1:]}, others {leaf.shape[1:]}; lanes need one shape"
            )
        room = room.astype(np.result_type(room, leaf), copy=False)
        room[pending[done]] = leaf[done]
        return room

"""A call of `vmap` by programs over lanes: the instances of one recording at a time, until none is left."""

from dataclasses import replace
from typing import Any

import numpy as np

from tapegrad.program.lanes.pool import LanePrograms
from tapegrad.pytree import flatten
from tapegrad.transforms.vmap.lane_goals import Goal, Instance, OutputSlot
from tapegrad.transforms.vmap.mapped_axes import Mapped, repeated

_MIN_PER_BRANCH = 32  # instances: if fewer share the branch of the first, each is computed alone


class LaneCall:
    """Call of a batch of instances.

    Parameters
    ----------
    goal
        What is computed.
    mapped
        The arguments.
    known
        An instance of an earlier call with arguments that look the same, if there is one.

    Attributes
    ----------
    instance
        One whose recording has computed all, if one has.
    """

    def __init__(self, goal: Goal, mapped: Mapped, known: Instance | None = None) -> None:
        self._goal, self._mapped = goal, mapped
        self._known = known
        self.instance: Instance | None = None
        self._collected = _Collected(mapped.size)
        self._inputs: list[Any] = []  # for each input of the last instance the array with all instances

    def results(self) -> tuple[list[Any], Any] | None:
        """Compute all instances: the leaves of the results, instances first, and their structure.

        `None` if no program of the goal does, or hardly two instances have the same.
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
            if failed[0] and is_first:  # a kernel has stopped for the sake of another one in its block
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

    def _computed(self, number: int) -> Instance | None:
        """Compute an instance by itself. An exception that it raises says which one it is."""
        try:
            return self._goal.instance(*self._mapped.instance(number))
        except (np.linalg.LinAlgError, IndexError) as error:
            error.args = (f"{error} (vmap: instance {number} of {self._mapped.size})",)
            raise

    def _with_arrays(self, known: Instance) -> Instance:
        """Return a known instance with the arrays of this call that all instances share."""
        arguments = known.arguments
        arrays = list(arguments.arrays)
        for leaf, stack, start in zip(
            self._mapped.leaves, self._mapped.stacks, arguments.starts, strict=False
        ):
            place = arguments.positions[start]
            if stack is None and place >= 0:
                arrays[place] = np.ascontiguousarray(leaf, arrays[place].dtype)
        return known._replace(arguments=replace(arguments, arrays=arrays))

    def _run(self, instance: Instance, pending: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Run the program of an instance for all that are pending: the results, and for which they are none."""
        trace, spec = instance.trace, instance.spec
        stacks = self._inputs = self._stacks(instance)
        batched = tuple(stack is not None or k in spec.wrt for k, stack in enumerate(stacks))
        programs = trace.over_lanes.get((spec, batched))
        if programs is None:
            programs = trace.over_lanes.setdefault((spec, batched), LanePrograms(trace, spec, batched))
        given = self._given(instance, stacks, pending)
        results, failed = programs.run(given, len(pending))
        found = [
            array.astype(result.dtype, copy=False)
            for array, result in zip(results, instance.results, strict=True)
        ]
        return found, failed

    def _given(self, instance: Instance, stacks: list[Any], pending: np.ndarray) -> list[np.ndarray]:
        """Return the arrays for the program: inputs, batched ones for all pending instances, and directions."""
        inputs = instance.arguments.arrays
        arrays, every = [*inputs, *instance.given], [*stacks, *self._directions()]
        repeated_inputs = {*instance.spec.wrt, *range(len(inputs), len(arrays))}
        found = []
        for k, (stack, array) in enumerate(zip(every, arrays, strict=True)):
            if stack is not None:
                found.append(_chosen(stack, array, pending, self._mapped.size))
            elif k in repeated_inputs:
                found.append(np.broadcast_to(array, (len(pending), *array.shape)))
            else:
                found.append(array)
        return found

    def _directions(self) -> list[Any]:
        """Return the array of all instances for each leaf of the last positional argument, if that is a direction."""
        if not self._goal.directions:
            return []
        start = sum(self._mapped.counts[: self._mapped.positional - 1])
        return self._mapped.stacks[start : start + self._mapped.counts[self._mapped.positional - 1]]

    def _stacks(self, instance: Instance) -> list[Any]:
        """Return the array of all instances for each input, `None` for an unbatched one.

        Raises
        ------
        TypeError
            If an argument that is mapped over is static.
        """
        arguments, mapped = instance.arguments, self._mapped
        found: list[Any] = [None] * len(arguments.arrays)
        starts = [*arguments.starts, len(arguments.positions)]
        number, first = 0, 0  # of an argument, and of its first leaf
        for k, count in enumerate(mapped.counts):
            stacks = mapped.stacks[first : first + count]
            first += count
            if self._goal.directions and k == mapped.positional - 1:
                continue
            places = arguments.positions[starts[number] : starts[number + 1]]
            places = places if len(places) == count else [-1] * count
            number += 1
            for place, stack in zip(places, stacks, strict=True):
                if stack is not None and place < 0:
                    raise TypeError(f"vmap: argument {k} is static, and cannot be mapped over")
                if stack is not None:
                    found[place] = stack
        return found

    def _collect(
        self, instance: Instance, arrays: list[np.ndarray], pending: np.ndarray, done: np.ndarray
    ) -> None:
        """Take what instances have given that are done."""
        places, definition = flatten(instance.value)
        stacks = self._inputs
        leaves = []
        for place in places:
            if not isinstance(place, OutputSlot):
                leaves.append(place)
            elif not place.is_input:
                leaves.append(arrays[place.number])
            elif stacks[place.number] is None:
                leaves.append(instance.arguments.arrays[place.number].astype(place.dtype)[()])
            else:
                leaves.append(stacks[place.number][pending].astype(place.dtype))
        lanes = [
            isinstance(place, OutputSlot) and not (place.is_input and stacks[place.number] is None)
            for place in places
        ]
        self._collected.put(leaves, lanes, definition, pending, done)


def _is_beyond_int64(stack: Any) -> bool:
    return stack is not None and stack.dtype == np.uint64 and bool((stack >= 1 << 63).any())


def _chosen(stack: np.ndarray, like: np.ndarray, pending: np.ndarray, count: int) -> np.ndarray:
    """Select the pending ones of all instances for the program: in C order, of the dtype of one instance."""
    chosen = stack if len(pending) == count else stack[pending]
    return np.ascontiguousarray(chosen, like.dtype)


class _Collected:
    """The results of all instances, from one recording or several."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.leaves: list[Any] = []
        self.definition: Any = None
        self._begun = False

    def put(
        self, leaves: list[Any], lanes: list[bool], definition: Any, pending: np.ndarray, done: np.ndarray
    ) -> None:
        """Take the results of the pending instances that are done; a leaf without lanes is the same of all."""
        whole = len(pending) == self._size and bool(done.all())
        spread = [
            leaf if has_lanes else repeated(leaf, len(pending))
            for leaf, has_lanes in zip(leaves, lanes, strict=True)
        ]
        if whole:
            self.leaves, self.definition = spread, definition
            return
        if not self._begun:
            self.leaves = [self._room(leaf) for leaf in spread]
            self.definition, self._begun = definition, True
        if definition != self.definition:
            raise ValueError("vmap: some instances return another structure than others")
        self.leaves = [
            self._filled(room, leaf, pending, done) for room, leaf in zip(self.leaves, spread, strict=True)
        ]

    def _room(self, leaf: Any) -> Any:
        return np.empty((self._size, *leaf.shape[1:]), leaf.dtype) if isinstance(leaf, np.ndarray) else leaf

    def _filled(self, room: Any, leaf: Any, pending: np.ndarray, done: np.ndarray) -> Any:
        """Return all instances' results with those that are done."""
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

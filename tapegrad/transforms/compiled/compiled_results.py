"""Sources of the results of a compiled function after its program has run, leaf by leaf."""

from itertools import accumulate
from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.program.programs.handle import Source, Specialization
from tapegrad.program.programs.program import Program
from tapegrad.program.recording.constant_results import ConstantOutput
from tapegrad.program.streams.spec import FORWARD, JACFWD, JVP
from tapegrad.pytree import flatten
from tapegrad.transforms.compiled.frozen import PinnedRecording
from tapegrad.transforms.grad import ValueAndGrad
from tapegrad.transforms.jacobians.hessian import AlongDirection, FlatGradient
from tapegrad.transforms.jit import Jit

_ENGINE_DTYPES = {"f": np.float64, "c": np.complex128, "i": np.int64, "u": np.int64, "b": np.bool_}
Sources = list[Source | None]  # None: as it was in the example


def leaves_of(result: Any) -> list[np.ndarray]:
    """Return the numbers in a function's result as arrays of dtypes that the engine has; other leaves are left out."""
    return [_in_engine_dtype(np.asarray(leaf)) for leaf in flatten(result)[0] if _is_number(leaf)]


def _is_number(leaf: Any) -> bool:
    return leaf is not None and np.asarray(leaf).dtype.kind in _ENGINE_DTYPES


def _in_engine_dtype(array: np.ndarray) -> np.ndarray:
    plain = array.dtype.newbyteorder("=")
    dtype = plain if plain in DTYPE_CODES else np.dtype(_ENGINE_DTYPES[plain.kind])
    return np.array(array, dtype, order="C")


def specialization_of(transform: Any, recorded: PinnedRecording, leaves: list[np.ndarray]) -> Specialization:
    """Return a specialization with the sources of all leaves of its result."""
    program = recorded.trace.program(recorded.spec)
    computed = _computed(transform, recorded, program, leaves)
    sources = [
        Source(array=leaf) if source is None else source
        for leaf, source in zip(leaves, computed, strict=True)
    ]
    return Specialization(program, sources, _order(recorded))


def _order(recorded: PinnedRecording) -> list[int]:
    """Return the arguments of a call in the order of the program's bindings: a direction stands behind all others."""
    count = len(recorded.arguments.arrays) + len(recorded.given)
    if not isinstance(recorded.function, AlongDirection):
        return list(range(count))
    directions = recorded.arguments.starts[1]
    return [*range(count - directions, count), *range(count - directions)]


def _computed(
    transform: Any, recorded: PinnedRecording, program: Program, leaves: list[np.ndarray]
) -> Sources:
    """Return the sources of all leaves of a transform's result."""
    outputs, derivatives = _outputs(recorded, program), _derivatives(recorded, program)
    if isinstance(transform, Jit) or recorded.spec.kind == JVP:
        return outputs
    if isinstance(recorded.function, AlongDirection):
        outputs = []
    aux = outputs[1:]
    if isinstance(recorded.function, FlatGradient) and recorded.spec.kind != FORWARD:
        derivatives = _taken_apart(recorded, program)
    derivatives = derivatives or [None] * (len(leaves) - len(aux) - isinstance(transform, ValueAndGrad))
    return [*outputs, *derivatives] if isinstance(transform, ValueAndGrad) else [*derivatives, *aux]


def _outputs(recorded: PinnedRecording, program: Program) -> Sources:
    """Return the sources of the leaves of the recorded function's result, or of their tangents."""
    kind = recorded.spec.kind
    is_whole = kind in (FORWARD, JVP)  # all outputs are results, and the last bindings
    first = len(program.bindings) - len(program.outputs) if is_whole else program.given - (kind != JACFWD)
    found: Sources = []
    for result in recorded.trace.results:
        if isinstance(result, int):
            found.append(Source(first + result) if first + result >= program.given else Source())
        elif isinstance(result, ConstantOutput):
            if _is_number(result.value([])):
                found.append(None if kind == JVP else _lasting(result))
        else:
            found.append(None if kind == JVP else Source(passed=result.number))
    return found


def _lasting(result: ConstantOutput) -> Source | None:
    """Return the source of an array that the function returns each time."""
    array = result.fixed.data_or_traced() if is_tensor(result.fixed) else result.fixed
    plain = isinstance(array, np.ndarray) and array.flags.c_contiguous and array.dtype in DTYPE_CODES
    return Source(array=array) if plain else None


def _derivatives(recorded: PinnedRecording, program: Program) -> Sources:
    """Return the sources of gradients or Jacobians; none if there is nothing to differentiate."""
    if recorded.spec.kind in (FORWARD, JVP):
        return []
    first = len(program.bindings) - len(recorded.spec.wrt)
    return [Source(binding) for binding in range(first, len(program.bindings))]


def _taken_apart(recorded: PinnedRecording, program: Program) -> Sources:
    """Split a Hessian by several leaves: for each leaf its rows of the derivatives by each."""
    wrt = recorded.spec.wrt
    first = len(program.bindings) - len(wrt)
    sizes = [program.bindings[k].size for k in wrt]
    starts = [0, *accumulate(sizes)][: len(wrt)]
    return [
        Source(first + j, start * program.bindings[k].nbytes) for start in starts for j, k in enumerate(wrt)
    ]

"""A compiled function from a file, as Python calls it."""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.kernels.language.status import GUARD_FAILED
from tapegrad.engine.tape.fields.view import View
from tapegrad.errors import UnrecordedWayError
from tapegrad.program.archive.functions import StoredFunction
from tapegrad.program.programs.handle import Source, Specialization
from tapegrad.program.programs.workspace import Workspace
from tapegrad.program.recording.signature import Arguments, flatten_args, has_tensor
from tapegrad.transforms.compiled.frozen import check_specs, no_specialization
from tapegrad.transforms.jit import error_of


class Stored:
    """Callable of the programs of a file.

    Parameters
    ----------
    content
        The file's bytes.

    Attributes
    ----------
    handle
        The handle of its programs.
    workspaces
        For each specialization, those that are not in use.
    returned
        For each specialization, what a call of it returns, with zeros for all numbers.
    """

    def __init__(self, content: bytes) -> None:
        self._stored = StoredFunction(content)
        self.handle = self._stored.handle
        self.__name__ = self.__qualname__ = self._stored.name
        self._title = f"the compiled {self.__name__}"
        self._expected: Arguments = flatten_args(self._stored.arguments.example(), {})
        self.workspaces: list[list[Workspace]] = [[] for _ in self.handle.specializations]
        self.returned = [self._stored.results.example()] * len(self.workspaces)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if has_tensor(args, kwargs):
            raise TypeError(
                f"{self._title} takes arrays and numbers, not Tensors; it comes from a file, and has no function"
            )
        arguments = flatten_args(args, kwargs)
        check_specs(self._title, (self._expected, ()), (arguments, ()))
        for specialization, free in zip(self.handle.specializations, self.workspaces, strict=True):
            run = _run(specialization, free, arguments.arrays)
            if run is not None:
                results = map(run.result, specialization.sources, self.handle.results)
                return self._stored.results.with_arrays(list(results))
        raise UnrecordedWayError(no_specialization(self._title))


class _Run(NamedTuple):
    """Execution of a specialization: the arrays of its bindings, and the value in its workspace."""

    inputs: list[np.ndarray]
    bindings: list[np.ndarray]
    value: Any

    def result(self, source: Source, view: View) -> np.ndarray:
        """Return one of the results, in memory of its own."""
        if source.array is not None:
            found = source.array
        elif source.passed >= 0:
            found = self.inputs[source.passed]
        else:
            found = self.value if source.is_value else self.bindings[source.binding]
        content = found.reshape(-1).view(np.uint8)[source.offset : source.offset + view.nbytes]
        return content.copy().view(view.dtype).reshape(view.shape)


def _run(specialization: Specialization, free: list[Workspace], inputs: list[np.ndarray]) -> _Run | None:
    """Run a specialization; `None` if one of its guards does not hold."""
    try:
        workspace = free.pop()
    except IndexError:
        workspace = Workspace(specialization.program)
    given = [inputs[number] for number in specialization.order]
    status, arrays = workspace.run(given)
    value = None if workspace.value is None else workspace.value.copy()
    free.append(workspace)
    if status == GUARD_FAILED:
        return None
    if status != 0:
        raise error_of(status)
    return _Run(inputs, [*given, *arrays], value)

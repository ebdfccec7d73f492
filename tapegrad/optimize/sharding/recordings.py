"""Recordings of what is computed of each part, for all signatures that parts have, as values that travel."""

import uuid
import zlib
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.runtime.fork_locks import lock
from tapegrad.errors import UnrecordedWayError
from tapegrad.frontend.tensor.modes import errstate, thread
from tapegrad.optimize.native.executors import packed
from tapegrad.optimize.sharding.tree import Value
from tapegrad.program.captured.captured_state import CapturedState
from tapegrad.program.recording.signature import flatten_args
from tapegrad.transforms.compiled.compiled import Compiled, compile
from tapegrad.transforms.jacobians.hessian import hessian
from tapegrad.transforms.jacobians.jacobian import jacobian
from tapegrad.transforms.jit import Jit


class Signature:
    """Signature of arguments: there is one object for equal ones, so that it is found by identity."""

    def __init__(self, key: Hashable) -> None:
        self._key = key

    @staticmethod
    def of(*values: Any) -> "Signature":
        """Return the signature of arguments."""
        return _known_signature(flatten_args(values, {}).key)

    def __reduce__(self) -> Any:
        return _known_signature, (self._key,)


_signatures: dict[Hashable, Signature] = {}


def _known_signature(key: Hashable) -> Signature:
    return _signatures.setdefault(key, Signature(key))


_NO_ARGUMENTS = Signature.of()


class EvaluationPoint(NamedTuple):
    """Point where all parts are evaluated: the parameters, further arguments of the function, and directions."""

    x: np.ndarray
    args: tuple[Any, ...] = ()
    directions: tuple[np.ndarray, ...] = ()

    def arguments(self, part: Any) -> tuple[Any, ...]:
        """Return the arguments for a part."""
        return self.x, part, *self.args, *self.directions

    @property
    def signature(self) -> Signature:
        """The signature of the further arguments."""
        return Signature.of(*self.args) if self.args else _NO_ARGUMENTS


Example = tuple[Any, ...]  # arguments for a part
Evaluator = Callable[[EvaluationPoint, int, Any], Value]  # takes the number of the part and the part
Makes = Callable[[Any, list[Any]], Evaluator]


class OfCompiled:
    """Results of a compiled function."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled

    def __call__(self, point: EvaluationPoint, number: int, part: Any) -> Value:
        results = self._compiled(*point.arguments(part))
        return results if type(results) is tuple else (results,)


class ListedResults(OfCompiled):
    """Result of a compiled function in a list, to which those of other parts are joined."""

    def __call__(self, point: EvaluationPoint, number: int, part: Any) -> Value:
        return (list(super().__call__(point, number, part)),)


class NormalEquations:
    """Half the sum of squares of residuals r with Jacobian J, the gradient ``J.T @ r``, and ``J.T @ J``."""

    def __init__(self, residuals: Jit[..., Any], examples: Sequence[Example]) -> None:
        self._residuals = compile(residuals, *examples)
        self._jacobian = compile(jacobian(residuals), *examples)
        pair = self._residuals(*examples[0]), self._jacobian(*examples[0])
        self._products = compile(lambda r, j: (0.5 * (r @ r), r @ j, j.T @ j), pair)

    def __call__(self, point: EvaluationPoint, number: int, part: Any) -> Value:
        arguments = point.arguments(part)
        products: Value = self._products(self._residuals(*arguments), self._jacobian(*arguments))
        return products


class SparseHessian:
    """Hessian as a sparse matrix. Where its entries are depends on indices in a part, so each part is recorded."""

    def __init__(self, function: Jit[..., Any]) -> None:
        self._function = function
        self._of_part: dict[int, tuple[Any, Any]] = {}

    def __reduce__(self) -> Any:
        return SparseHessian, (self._function,)

    def __call__(self, point: EvaluationPoint, number: int, part: Any) -> Value:
        known, derivative = self._of_part.get(number, (None, None))
        if known is not part or derivative is None:
            derivative = hessian(lambda x, *args: self._function(x, part, *args), sparse=True)
            self._of_part[number] = part, derivative
        return (derivative(point.x, *point.args),)


def compiled_by(transform: Callable[..., Any]) -> Makes:
    """Return what makes evaluators of a transform's results."""
    return lambda function, examples: OfCompiled(compile(transform(function), *examples))


Signatures = tuple[Signature, Signature]  # of a part, and of the further arguments


class Table(dict[Signatures, Evaluator]):
    """Evaluators by signature.

    Attributes
    ----------
    key
        Equal for tables with the same content, in all processes.
    """

    key: tuple[Any, ...] = ()

    def evaluate(self, point: EvaluationPoint, number: int, part: Any, signatures: Signatures) -> Value:
        """Evaluate a part.

        Raises
        ------
        UnrecordedWayError
            If the signatures, or a branch that it takes, is not known.
        """
        evaluator = self.get(signatures)
        if evaluator is None:
            raise UnrecordedWayError("a part has a signature that is not recorded")
        return evaluator(point, number, part)


class PartRecordings:
    """Evaluators of one kind, which are recorded when they are first needed.

    Parameters
    ----------
    function
        Takes the vector of parameters, a part and further arguments.
    make
        Makes an evaluator of the function, and of examples of its arguments.

    Notes
    -----
    What failures of linear algebra give is that of the thread that makes it (`linalg.errstate`).
    """

    def __init__(self, function: Jit[..., Any], make: Makes) -> None:
        self._function, self._make = function, make
        self._examples: dict[Signatures, list[Example]] = {}
        self._captured: CapturedState | None = None
        self._lock = lock()
        self._errors: Any = "nan" if thread.mode.nan_on_failure else "raise"
        self._name, self._version, self._content = uuid.uuid4().hex, 0, b""
        self.table = Table()

    def refresh(self) -> None:
        """Forget all recordings if what the function captures has changed."""
        with self._lock:
            captured = self._captured
            if captured is not None and not captured.holds() and captured.change() is not None:
                self.table, self._examples, self._captured = Table(), {}, None

    def learn(self, point: EvaluationPoint, part: Any, signatures: Signatures) -> None:
        """Record the function for a part."""
        with self._lock:
            examples = [*self._examples.get(signatures, ()), point.arguments(part)]
            with errstate(self._errors):  # helpers have a mode of their own
                evaluator = self._make(self._function, examples)
            self._examples[signatures] = examples
            self.table = Table({**self.table, signatures: evaluator})
            self._captured = self._captured or CapturedState((self._function.function,))
            self._version += 1
            self._content = b""

    def evaluate(self, point: EvaluationPoint, number: int, part: Any, signatures: Signatures) -> Value:
        """Evaluate a part in this process."""
        table = self.table
        try:
            return table.evaluate(point, number, part, signatures)
        except UnrecordedWayError:
            with self._lock:
                if self.table is not table:  # another thread has recorded something meanwhile
                    return self.evaluate(point, number, part, signatures)
                self.learn(point, part, signatures)
        return self.table.evaluate(point, number, part, signatures)

    def travelling(self) -> tuple[tuple[Any, ...], bytes]:
        """Return the key of the table, and the table pickled: recordings where they can be saved, else the function."""
        with self._lock:
            sums = self._checksums()
            key = self._name, self._version, sums
            if self.table.key != key:
                self.table.key, self._content = key, b""
            self._content = self._content or packed(self.table, "sharded")
            return key, self._content

    def _checksums(self) -> tuple[int, ...]:
        """Return checksums of captured arrays, which recordings read where they lie, and other processes in a copy."""
        arrays = () if self._captured is None else self._captured.reach.named_arrays
        return tuple(
            zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data)
            for _, array in arrays
            if array.dtype != object
        )

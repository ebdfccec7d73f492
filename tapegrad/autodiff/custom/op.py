"""Ops of the user's own, recorded as single instructions."""

import itertools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.autodiff.custom import callbacks
from tapegrad.autodiff.custom.call import Call, Token, unpacked
from tapegrad.autodiff.custom.functions import Functions, Statics
from tapegrad.autodiff.custom.operands import Operands
from tapegrad.autodiff.custom.packing import Part, common_dtype, put, total
from tapegrad.engine.printing import custom_ops
from tapegrad.engine.runtime.fork_locks import lock
from tapegrad.engine.sweep import eager
from tapegrad.engine.tape.tape import Tape
from tapegrad.frontend.anomaly import watch
from tapegrad.frontend.copying import reference
from tapegrad.frontend.modes import current, eager_mode
from tapegrad.frontend.record_structural import allocate, in_shape
from tapegrad.frontend.tensor import Tensor, from_array, is_tensor, view_of
from tapegrad.ops import CODES

_CUSTOM = CODES["custom"]
_REMEMBERED = 64  # calls with different shapes or static arguments that an op keeps for the next time
_numbers = itertools.count(1)


class CustomOp:
    """An op made by `custom_op`.

    Attributes
    ----------
    functions
        The functions that it was made of.
    shape
        The function that gives the shapes of the outputs, if there is one.
    """

    def __init__(self, functions: Functions, shape: Callable[..., Any] | None = None) -> None:
        self.functions, self.shape = functions, shape
        self._number = next(_numbers)
        self._tokens: OrderedDict[Any, Any] = OrderedDict()
        self._lock = lock()
        custom_ops[self._number] = functions
        self.__doc__ = functions.forward.__doc__
        self.__name__ = self.__qualname__ = functions.name
        self.__module__ = getattr(functions.forward, "__module__", None) or __name__
        self.__wrapped__ = functions.forward

    def __reduce__(self) -> Any:
        return reference(self, self.functions.forward) or (CustomOp, (self.functions, self.shape))

    @property
    def on_arrays(self) -> Callable[..., Any]:
        """What the op does to arrays."""
        return self.functions.forward

    @property
    def name(self) -> str:
        """The op's name."""
        return self.functions.name

    def __repr__(self) -> str:
        return f"<custom op {self.name!r}>"

    def define_vjp(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Give the op its vjp, as a decorator."""
        return self._define("vjp", function)

    def define_jvp(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Give the op its jvp, as a decorator."""
        return self._define("jvp", function)

    def _define(self, role: str, function: Callable[..., Any]) -> Callable[..., Any]:
        if getattr(self.functions, role) is not None:
            raise ValueError(f"custom op {self.name!r} has a {role} already")
        setattr(self.functions, role, as_function(function, self.name, role))
        return function

    def __call__(self, *args: Any, **statics: Any) -> Any:
        """Run `forward` on Tensors, arrays and numbers; a Tensor, or a tuple of Tensors if it returns several."""
        key = self._statics_key(statics)
        tape, differentiate = current()
        operands = Operands(self.name, args, tape)
        outputs, single = self._outputs(operands, statics)
        parts = tuple([Part.of(output) for output in outputs])
        dtype = common_dtype(operands.dtypes.union([part.dtype for part in parts]))
        token = self._token((key, operands.inputs, parts, single, dtype), statics)
        result = allocate(tape, dtype, (total(parts),), self.name)
        put(outputs, parts, result.data_or_traced())
        self._append(tape, result, operands, token, differentiate)
        tensors = _in_parts(result, parts, single)
        return tensors[0] if single else tuple(tensors)

    def _outputs(self, operands: Operands, statics: Statics) -> tuple[list[np.ndarray], bool]:
        """What `forward` returns for these operands."""
        arrays = unpacked(self.functions, "forward", operands.inputs, operands.x_array, operands.rest_array)
        version = operands.version
        result = self.functions.call("forward", *arrays, statics=statics)
        operands.check_version(version)
        outputs, single = self.functions.outputs(result)
        if self.shape is not None:
            self._check_shapes(operands, statics, [output.shape for output in outputs], single)
        return outputs, single

    def _check_shapes(
        self, operands: Operands, statics: Statics, shapes: list[tuple[int, ...]], single: bool
    ) -> None:
        assert self.shape is not None
        stated = self.shape(*[part.shape for part in operands.inputs], **statics)
        expected = [tuple(stated)] if single else [tuple(each) for each in stated]
        if expected != shapes:
            raise ValueError(
                f"custom op {self.name!r}: forward returned arrays of shapes {', '.join(map(str, shapes))}, but shape"
                f" states {', '.join(map(str, expected))}"
            )

    def _statics_key(self, statics: Statics) -> Any:
        if not statics:
            return ()
        for name, value in statics.items():
            if is_tensor(value) or isinstance(value, np.ndarray):
                raise TypeError(
                    f"custom op {self.name!r}: keyword arguments are static; pass the array {name!r} by position"
                )
        try:
            key = tuple((name, _exactly(statics[name])) for name in sorted(statics))
            hash(key)
        except TypeError:
            raise TypeError(
                f"custom op {self.name!r}: keyword arguments must be hashable, for they are static; pass arrays by"
                " position"
            ) from None
        return key

    def _token(self, key: Any, statics: Statics) -> Tensor:
        """The constant operand that stands for a call of this op with certain shapes and static arguments."""
        with self._lock:
            token = self._tokens.get(key)
            if token is None:
                token = self._tokens[key] = self._new_token(key, statics)
                if len(self._tokens) > _REMEMBERED:
                    self._tokens.popitem(last=False)
            else:
                self._tokens.move_to_end(key)
        return token

    def _new_token(self, key: Any, statics: Statics) -> Tensor:
        _, inputs, outputs, single, dtype = key
        call = Call(self.functions, self._number, statics, inputs, outputs, single, dtype)
        callbacks.equip(call)
        with eager_mode():
            return from_array(Token.of(call), constant=True)

    def _append(
        self, tape: Tape, result: Tensor, operands: Operands, token: Tensor, differentiate: bool
    ) -> None:
        """Append the instruction; its result is there already."""
        call = token.data_or_traced().call  # type: ignore[attr-defined]
        x = operands.x if operands.x.dtype == call.dtype else operands.x.astype(call.dtype)
        slots = [t._slot_on(tape) for t in (x, token, operands.rest)]
        params = np.array([call.address, self._number], np.int64)
        eager.append_call(tape.header, _CUSTOM, result._slot, *slots, id(params), differentiate)
        watch(tape, result._slot, self.name)


def _in_parts(result: Tensor, parts: tuple[Part, ...], single: bool) -> list[Tensor]:
    """The outputs: all of the result in its shape, or views of parts of it."""
    if single:
        tensors = [result if result.shape == parts[0].shape else in_shape(result, parts[0].shape)]
    else:
        array, start, tensors = result.data_or_traced(), 0, []
        for part in parts:
            tensors.append(view_of(result, array[start : start + part.size].reshape(part.shape)))
            start += part.size
    return [t if t.dtype == p.dtype else t.astype(p.dtype) for t, p in zip(tensors, parts, strict=True)]


def _exactly(value: Any) -> Any:
    """A static argument as a key that differs wherever it does: 1, 1.0 and True are equal, and so are 0.0 and -0.0."""
    if type(value) in (tuple, frozenset):
        return type(value), tuple(map(_exactly, value)) if type(value) is tuple else frozenset(
            map(_exactly, value)
        )
    return type(value), repr(value) if isinstance(value, float | complex) else value


def is_op(function: Any) -> bool:
    """Whether a function of the user's is a custom op."""
    return isinstance(function, CustomOp)


def as_function(function: Any, name: str, role: str) -> Any:
    """A function of the user's, if it is one."""
    if not callable(function):
        raise TypeError(f"custom op {name!r}: {role} must be a function, not {type(function).__name__}")
    return function

"""Custom ops: users' functions, each recorded as a single instruction."""

import itertools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.autodiff.custom import callbacks
from tapegrad.autodiff.custom.call import Call, CallHandle, unpack_inputs
from tapegrad.autodiff.custom.functions import Functions, Statics
from tapegrad.autodiff.custom.operands import Operands
from tapegrad.autodiff.custom.packing import ArraySpec, common_dtype, pack_into, packed_size
from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.printing import custom_ops
from tapegrad.engine.runtime.fork_locks import lock
from tapegrad.engine.sweep.eager import eager
from tapegrad.engine.tape.tape import Tape
from tapegrad.frontend.conversions.complex_views import made_complex
from tapegrad.frontend.recording.record_structural import in_shape
from tapegrad.frontend.tensor.anomaly import watch
from tapegrad.frontend.tensor.copying import reference
from tapegrad.frontend.tensor.modes import current, eager_mode
from tapegrad.frontend.tensor.static_keys import static_key
from tapegrad.frontend.tensor.tensor import Tensor, allocate, from_array, is_tensor, view_of
from tapegrad.frontend.words.derived_docs import like
from tapegrad.ops import CODES
from tapegrad.ops.structural.control import CustomParams

_CUSTOM = CODES["custom"]
_MAX_CALLS = 64  # specializations that an op keeps
_numbers = itertools.count(1)


class CustomOp:
    """Op made by `custom_op`: a function of NumPy arrays that is one instruction on the tape.

    Attributes
    ----------
    functions
        The functions that it was made of.
    shape
        The function that gives the shapes of the outputs, if there is one.

    Examples
    --------
    >>> import tapegrad as tg
    >>> @tg.custom_op("cube", vjp=lambda y_bar, y, x: 3 * x**2 * y_bar)
    ... def cube(x):
    ...     return x**3
    >>> cube
    <custom op 'cube'>
    >>> cube(2.0)
    Tensor(8.)
    """

    def __init__(self, functions: Functions, shape: Callable[..., Any] | None = None) -> None:
        self.functions, self.shape = functions, shape
        self._number = next(_numbers)
        self._handles: OrderedDict[Any, Any] = OrderedDict()
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
        """The NumPy function that was given as `forward`."""
        return self.functions.forward

    @property
    def name(self) -> str:
        """The name of the op in messages and printed tapes."""
        return self.functions.name

    def __repr__(self) -> str:
        return f"<custom op {self.name!r}>"

    def define_vjp(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Set the function that pulls cotangents back; a decorator.

        Parameters
        ----------
        function : callable
            As the argument `vjp` of `custom_op`.

        Returns
        -------
        callable
            The function itself.

        Raises
        ------
        ValueError
            If the op has a vjp already.

        Examples
        --------
        >>> import tapegrad as tg
        >>> @tg.custom_op("cube")
        ... def cube(x):
        ...     return x**3
        >>> @cube.define_vjp
        ... def cube_vjp(y_bar, y, x):
        ...     return 3 * x**2 * y_bar
        >>> tg.grad(cube)(2.0)
        np.float64(12.0)
        """
        return self._define("vjp", function)

    @like(
        define_vjp,
        ("`vjp`", "`jvp`"),
        ("a vjp", "a jvp"),
        summary="Set the function that pushes tangents forward; a decorator.",
        examples=""">>> @tg.custom_op("cube")
... def cube(x):
...     return x**3
>>> @cube.define_jvp
... def cube_jvp(x_dots, y, x):
...     return 3 * x**2 * x_dots[0]
>>> tg.jvp(cube, (2.0,), (1.0,))
(np.float64(8.0), np.float64(12.0))""",
    )
    def define_jvp(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self._define("jvp", function)

    def _define(self, role: str, function: Callable[..., Any]) -> Callable[..., Any]:
        if getattr(self.functions, role) is not None:
            raise ValueError(f"custom op {self.name!r} has a {role} already")
        setattr(self.functions, role, as_function(function, self.name, role))
        return function

    def __call__(self, *args: Any, **statics: Any) -> Any:
        """Run `forward` on Tensors, arrays and numbers. Return a Tensor, or a tuple of Tensors."""
        key = self._statics_key(statics)
        tape, differentiate = current()
        operands = Operands(self.name, args, tape)
        outputs, single = self._outputs(operands, statics)
        specs = tuple([ArraySpec.of(output) for output in outputs])
        dtype = common_dtype(operands.dtypes.union([spec.packed_dtype for spec in specs]))
        handle = self._handle((key, operands.inputs, specs, single, dtype), statics)
        result = allocate(tape, dtype, (packed_size(specs),), self.name)
        pack_into(outputs, specs, result.data_or_traced())
        self._append(tape, result, operands, handle, differentiate)
        tensors = _unpack_result(result, specs, single)
        return tensors[0] if single else tuple(tensors)

    def _outputs(self, operands: Operands, statics: Statics) -> tuple[list[np.ndarray], bool]:
        """Run `forward`. Return its arrays, and whether it returned a single one."""
        arrays = unpack_inputs(
            self.functions, "forward", operands.inputs, operands.x_array, operands.rest_array
        )
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
        stated = self.shape(*[spec.shape for spec in operands.inputs], **statics)
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
            hash(tuple(statics.values()))
        except TypeError:
            raise TypeError(
                f"custom op {self.name!r}: keyword arguments must be hashable, for they are static; pass arrays by"
                " position"
            ) from None
        return tuple((name, static_key(statics[name])) for name in sorted(statics))

    def _handle(self, key: Any, statics: Statics) -> Tensor:
        """Return the handle of the specialization for these shapes and static arguments."""
        with self._lock:
            handle = self._handles.get(key)
            if handle is None:
                handle = self._handles[key] = self._new_handle(key, statics)
                if len(self._handles) > _MAX_CALLS:
                    self._handles.popitem(last=False)
            else:
                self._handles.move_to_end(key)
        return handle

    def _new_handle(self, key: Any, statics: Statics) -> Tensor:
        _, inputs, outputs, single, dtype = key
        call = Call(self.functions, self._number, statics, inputs, outputs, single, dtype)
        callbacks.install(call)
        with eager_mode():
            return from_array(CallHandle.of(call), constant=True)

    def _append(
        self, tape: Tape, result: Tensor, operands: Operands, handle: Tensor, differentiate: bool
    ) -> None:
        """Append the instruction of a result that is computed already."""
        own = handle.data_or_traced()
        assert isinstance(own, CallHandle)
        call = own.call
        x = operands.x if operands.x.dtype == call.dtype else operands.x.astype(call.dtype)
        slots = [t._slot_on(tape) for t in (x, handle, operands.rest)]
        fields = kernel_table.params_fields(_CUSTOM, CustomParams(call.address, self._number))
        eager.append_call(tape.header, _CUSTOM, result._slot, *slots, fields, differentiate)
        watch(tape, result._slot, self.name)


def _unpack_result(result: Tensor, specs: tuple[ArraySpec, ...], single: bool) -> list[Tensor]:
    """Return the outputs: the result in its shape, or views of its pieces."""
    if single:
        shape = specs[0].packed_shape
        tensors = [result if result.shape == shape else in_shape(result, shape)]
    else:
        array, start, tensors = result.data_or_traced(), 0, []
        for spec in specs:
            tensors.append(view_of(result, array[start : start + spec.size].reshape(spec.packed_shape)))
            start += spec.size
    tensors = [made_complex(t) if spec.is_complex else t for t, spec in zip(tensors, specs, strict=True)]
    return [t if t.dtype == p.dtype else t.astype(p.dtype) for t, p in zip(tensors, specs, strict=True)]


def is_op(function: Any) -> bool:
    """Return whether a function is a custom op."""
    return isinstance(function, CustomOp)


def as_function(function: Any, name: str, role: str) -> Any:
    """Return `function` if it can be called, otherwise raise."""
    if not callable(function):
        raise TypeError(f"custom op {name!r}: {role} must be a function, not {type(function).__name__}")
    return function

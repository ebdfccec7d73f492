"""`Tensor.backward`, `Tensor.grad`, and the methods that clear gradients."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tapegrad.autodiff import accumulate_grad, hooks, segmented_backward
from tapegrad.autodiff.changed_values import check_unchanged
from tapegrad.autodiff.graph_view import FREED, id_of, slot_numbers
from tapegrad.engine import kernel_table
from tapegrad.engine.inspection import verify
from tapegrad.engine.inspection.verify.switch import switch
from tapegrad.engine.status import raise_for
from tapegrad.engine.sweep.derivatives import reverse
from tapegrad.engine.sweep.derivatives.reverse import KEEP_GRAPH, ONLY_LOOK, OVERWRITE, STOP_AT_ATTACHMENTS
from tapegrad.engine.tape import memory, slots
from tapegrad.engine.tape.fields.layout import (
    DIFFERENTIABLE,
    E_CALLS,
    E_CONSTANT,
    E_FREED,
    E_KERNEL,
    E_STATUS,
    NONE,
    ORPHAN,
)
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.errors import FreedGraphError, TracedValueError
from tapegrad.frontend.recording.shape import broadcast_to
from tapegrad.frontend.tensor.anomaly import watching
from tapegrad.frontend.tensor.array_checks import (
    as_direction,
    complex_seen,
    is_same_memory,
    refuse_complex_result,
)
from tapegrad.frontend.tensor.arrays import show
from tapegrad.frontend.tensor.attachments import RemovableHook, any_hooks, attachments
from tapegrad.frontend.tensor.description import SlotDescription
from tapegrad.frontend.tensor.modes import EAGER, eager_mode, entered
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, from_array, is_tensor, stale_leaf_slots

_HEADER = EAGER.header
_FIELDS = EAGER.fields.data  # a memoryview, whose items are Python's integers


def _seed(root: Tensor, gradient: Any) -> np.ndarray:
    """Return the given gradient in the root's dtype and shape."""
    given = gradient.data if is_tensor(gradient) else gradient
    value = as_direction(given, "backward: gradient", root.dtype)
    try:
        if np.broadcast_shapes(value.shape, root.shape) == root.shape:
            return np.asarray(np.broadcast_to(value, root.shape), root.dtype, order="C")
    except ValueError:
        pass
    raise ValueError(
        f"backward: a gradient of shape {value.shape} does not broadcast to the Tensor's shape {root.shape}"
    )


def _root_slot(root: Tensor) -> int:
    """Return the slot of the root on the eager tape, or raise if it is a constant."""
    if root._slot < 0 and root.dtype.kind not in DIFFERENTIABLE_KINDS:
        raise _on_constant()
    return root._slot_on(EAGER)


def _on_constant() -> RuntimeError:
    return RuntimeError(
        "backward on a constant: it was made from constants or integers, inside no_grad(), or by detach(), so no"
        " gradient can flow back from it"
    )


def _run(slot: int, seed: np.ndarray | None, wanted: np.ndarray | None, options: int) -> bool:
    """Run the compiled reverse sweep, and load missing kernels. Return False if the sweep needs Python."""
    arguments = (_HEADER, slot, id_of(seed), options, id_of(wanted))
    status = reverse.reverse_sweep(*arguments, 0)
    while status == E_KERNEL:
        missing = np.empty(2, np.int64)
        probe = (_HEADER, slot, id_of(seed), options | ONLY_LOOK, id_of(wanted), id(missing))
        if reverse.reverse_sweep(*probe) == E_KERNEL:  # unless another thread has loaded it meanwhile
            kernel_table.load_code(int(missing[0]), int(missing[1]), 1)
        status = reverse.reverse_sweep(*arguments, 0)
    if status == E_CONSTANT:
        raise _on_constant()
    if status == E_FREED:
        raise FreedGraphError(FREED)
    if status <= E_STATUS:
        raise_for(status, "backward", [])
    return bool(status != E_CALLS)


def _options(retain: bool, accumulate: bool) -> int:
    """Return the options of the compiled sweep. It stops at hooks and at gradients that are Tensors."""
    options = (KEEP_GRAPH if retain else 0) | (0 if accumulate else OVERWRITE)
    return options | STOP_AT_ATTACHMENTS if attachments and (not accumulate or any_hooks()) else options


def backward(
    x: Tensor,
    gradient: Any = None,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Iterable[Tensor] | None = None,
    accumulate: bool = True,
) -> None:
    """Add the gradient of this Tensor to the `grad` of every Tensor that it was computed from.

    Parameters
    ----------
    gradient : array_like or Tensor, optional
        The gradient to start from; it broadcasts to this Tensor's shape. Ones by default, so that ``t.backward()`` is
        ``t.sum().backward()``.
    retain_graph : bool, optional
        Keep the graph for another sweep. Otherwise it is freed, and another sweep through it raises. By default it is
        kept with `create_graph` only.
    create_graph : bool, default False
        Record the sweep itself: the gradients are Tensors, which can be differentiated in turn. They refer to the
        graph, and the Tensors that it was computed from refer to them, until the gradients are cleared.
    inputs : Tensor or iterable of Tensor, optional
        Give these Tensors a gradient, and no others. One that this Tensor does not depend on keeps what it has.
    accumulate : bool, default True
        If False, replace gradients of earlier sweeps instead of adding to them.

    Raises
    ------
    RuntimeError
        On a constant, and when the graph has been freed (`FreedGraphError`).
    TypeError
        If this Tensor is complex and there is no `gradient`, or if `gradient` is complex and this Tensor is real.
    ValueError
        If `gradient` does not broadcast to this Tensor's shape, or one of `inputs` is a constant.

    Notes
    -----
    A reverse sweep over the tape: the cotangent of each result, times the partials of its instruction, is added to the
    cotangents of the operands. Every Tensor that is reached has a gradient afterwards, be it zero.

    The gradient by complex numbers ``z = x + 1j * y`` is that by `x` plus ``1j`` times that by `y`: the direction of
    steepest ascent. That of a complex result with a `gradient` ``g`` is of ``sum(conj(g) * t).real``.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0, 3.0])
    >>> (x * x).sum().backward()
    >>> x.grad
    array([2., 4., 6.])
    """
    if gradient is None and complex_seen[0] and x.dtype.kind == "c":
        refuse_complex_result(x.dtype, "backward")
    is_plain = gradient is None and inputs is None and accumulate and not create_graph
    if not (is_plain and _swept_at_once(x, retain_graph)):
        retain = create_graph if retain_graph is None else retain_graph
        _sweep(x, gradient, retain, create_graph, inputs, accumulate)
    if _FIELDS[ORPHAN] != NONE:
        EAGER.drop_orphans()


def _swept_at_once(x: Tensor, retain: Any) -> bool:
    """Run the compiled sweep if nothing is to be asked before it; return whether it has run."""
    if entered or attachments or switch.on or x._tape is not EAGER:
        return False
    slot = x._slot if x._base is None else x._slot_on(EAGER)
    status = reverse.reverse_sweep(_HEADER, slot, 0, KEEP_GRAPH if retain else 0, 0, 0)
    if status <= E_STATUS:
        raise_for(status, "backward", [])
    return bool(status == 0)


def _sweep(x: Tensor, gradient: Any, retain: bool, create_graph: bool, inputs: Any, accumulate: bool) -> None:
    """Run the reverse sweep of `backward`, compiled, in segments or on Tensors."""
    slot = _root_slot(x)
    if not create_graph:
        x.check_escape("backward() without create_graph")
    asked = None if inputs is None else [value._slot_on(EAGER) for value in _listed(inputs)]
    if switch.on:
        verify.check(EAGER)
        check_unchanged(slot, asked)
    if create_graph or watching() is not None:
        given = _seed_tensor(x, gradient, create_graph)
        _check_differentiable(slot)
        accumulate_grad.backward_on_tensors(slot, given, asked, create_graph, accumulate, retain)
    else:
        seed = None if gradient is None else _seed(x, gradient)
        if not _run(slot, seed, slot_numbers(asked), _options(retain, accumulate)):
            segmented_backward.backward_in_segments(slot, seed, asked, accumulate, retain)


def _get_grad(x: Tensor) -> Any:
    """Return the gradient that sweeps have added up, as a NumPy array; None before the first.

    After a sweep with ``create_graph=True`` it is a Tensor. The gradient of a view is the same view of its base's
    gradient.

    Notes
    -----
    The array is the accumulator itself: the next sweep adds to it, and to what you write into it (``t.grad *= 0.5``,
    ``t.grad[...] = values``). Take ``t.grad.copy()`` to keep one gradient. ``t.grad = None`` is `null_grad`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0])
    >>> for _ in range(2):
    ...     (3 * x).backward()
    >>> x.grad
    array([6., 6.])
    """
    slot, tape = x._slot, x._tape
    if slot < 0:
        return None
    if tape is not EAGER:
        raise TracedValueError("grad of a Tensor of a recording: use tapegrad.grad on the recorded function")
    if x._base is not None:
        slot = x._slot_on(EAGER)
    if stale_leaf_slots:
        _collect_stale_gradients(x)
    if attachments:
        gradient = accumulate_grad.gradient_tensor(slot)
        if gradient is not None:
            return gradient
    return show(EAGER, slot, True)


def _set_grad(x: Tensor, values: Any) -> None:
    if values is None:
        _clear(x, False)
        return
    own = _get_grad(x)
    if own is None:
        raise AttributeError("there is no gradient to write to: backward() makes it")
    if is_same_memory(*(each.data if is_tensor(each) else np.asarray(each) for each in (own, values))):
        return  # an in-place operator has written its result already
    if is_tensor(own):
        raise AttributeError("the gradient is a Tensor: write to it in place, or clear it with null_grad()")
    own[...] = as_direction(values.data if is_tensor(values) else values, "grad", own.dtype)


def register_hook(x: Tensor, hook: Callable[[Any], Any]) -> RemovableHook:
    """Register a function that is called with this Tensor's gradient each time that a sweep has completed it.

    Parameters
    ----------
    hook : callable
        Takes the gradient: an array, or a Tensor under ``create_graph=True``. What it returns takes the gradient's
        place, here and in all that the sweep reaches from here; None leaves it as it is.

    Returns
    -------
    RemovableHook
        Its method `remove` removes the hook.

    Raises
    ------
    RuntimeError
        On a constant.
    TypeError, ValueError
        In the sweep, if the hook returns something of another kind or shape than the gradient.

    Notes
    -----
    A hook is called for every Tensor that the sweep reaches, with zeros where its gradient is zero. It is kept as
    long as its Tensor or a graph that reaches it, so one that refers to its own Tensor keeps that one until it is
    removed.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([3.0, 4.0])
    >>> handle = x.register_hook(lambda g: g / 10)
    >>> (x**2).backward()
    >>> x.grad
    array([0.6, 0.8])
    """
    return hooks.register(x, hook)


def clear_grad(x: Tensor, set_to_zero: bool = True) -> None:
    """Set the gradient to zero, or to None.

    Parameters
    ----------
    set_to_zero : bool, default True
        If False, set it to None and release its memory.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0])
    >>> (x * x).backward()
    >>> x.clear_grad()
    >>> x.grad
    array([0., 0.])
    """
    _clear(x, set_to_zero)


def null_grad(x: Tensor) -> Tensor:
    """Set the gradient to None.

    Returns
    -------
    Tensor
        This Tensor itself.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0])
    >>> (x * x).backward()
    >>> x.null_grad().grad is None
    True
    """
    _clear(x, False)
    return x


def _clear(x: Tensor, keep_memory: bool) -> None:
    slot = x._slot
    if slot < 0:
        return
    slot = x._slot_on(EAGER)
    _collect_stale_gradients(x)
    if attachments and accumulate_grad.gradient_tensor(slot) is not None:
        accumulate_grad.clear_gradient(slot, keep_memory)
        return
    if keep_memory and x._base is not None:
        gradient = show(EAGER, slot, True)
        if gradient is not None:
            gradient[...] = 0
        return
    memory.clear_cotangent(_HEADER, slot, keep_memory)


def pull_back(root: Tensor, inputs: list[Tensor], seed: np.ndarray | None = None) -> None:
    """Accumulate like ``backward(root, seed, inputs=inputs, retain_graph=True)``, for transforms.

    A constant root does nothing. The inputs must have slots; `seed` is an array of the root's shape and dtype in C
    order.
    """
    if root._tape is not EAGER:
        return
    if not switch.on and watching() is None:
        wanted = np.array([tensor._slot for tensor in inputs], np.int64)
        options = _options(retain=True, accumulate=True)
        arguments = (_HEADER, root._slot_on(EAGER), id_of(seed), options, id(wanted), 0)
        if reverse.reverse_sweep(*arguments) in (0, E_CONSTANT):
            return
    if not root.constant:  # kernels are missing, or the sweep reached a call of Python
        backward(root, seed, inputs=inputs, retain_graph=True)


def _collect_stale_gradients(tensor: Tensor) -> None:
    """Add the gradients of a leaf's former buffers: those before its writes under ``no_grad``."""
    former = stale_leaf_slots.get(id(tensor))
    if not former:
        return
    for slot in former:
        memory.move_cotangent(_HEADER, slot, tensor._slot)
    stale_leaf_slots[id(tensor)] = used = [slot for slot in former if slots.is_used(_HEADER, slot)]
    for slot in set(former) - set(used):
        slots.drop(_HEADER, slot)


def _listed(inputs: Any) -> list[Tensor]:
    """Return `inputs` as a list of Tensors, or raise if one of them cannot have a gradient."""
    listed = [inputs] if is_tensor(inputs) else list(inputs)
    if not listed:
        raise ValueError("backward: inputs is empty; leave it out to give every Tensor its gradient")
    for value in listed:
        if not is_tensor(value):
            raise TypeError(f"backward: inputs must be Tensors, not {type(value).__name__}")
        if value.constant:
            raise ValueError("backward: one of the inputs is a constant, into which no gradient flows")
    return listed


def _check_differentiable(slot: int) -> None:
    if not SlotDescription(_HEADER, slot).flags & DIFFERENTIABLE:
        raise _on_constant()


def _seed_tensor(root: Tensor, gradient: Any, create_graph: bool) -> Any:
    """Return the seed of a sweep on Tensors. If it was given as a Tensor, gradients flow back to it."""
    if gradient is None:
        return 1.0
    seed = _seed(root, gradient)
    if not create_graph or not is_tensor(gradient) or gradient.constant:
        return from_array(seed, constant=True)
    with eager_mode():
        gradient = gradient if gradient.dtype == root.dtype else gradient.astype(root.dtype)
        return gradient if gradient.shape == root.shape else broadcast_to(gradient, root.shape)


bind_methods(
    backward=backward,
    grad=property(_get_grad, _set_grad, doc=_get_grad.__doc__),
    register_hook=register_hook,
    clear_grad=clear_grad,
    null_grad=null_grad,
)

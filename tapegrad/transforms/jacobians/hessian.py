"""Second derivatives: forward sweeps over the recorded gradient, one for a product, many at once for a Hessian."""

import functools
import math
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

from tapegrad.autodiff.custom.tensor_rules import check_forward_rules
from tapegrad.errors import NoForwardModeError
from tapegrad.frontend.functions.reductions import reductions
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.recording import elementwise
from tapegrad.frontend.recording.shape import reshape
from tapegrad.frontend.tensor.tensor import from_array, is_tensor
from tapegrad.frontend.words.other_names import knows_argnum
from tapegrad.program.recording.signature import has_tensor
from tapegrad.program.streams.spec import JVP, ProgramSpec
from tapegrad.pytree import LEAF, flatten, unflatten
from tapegrad.transforms import jvp
from tapegrad.transforms.base import DerivativeTransform, Transform
from tapegrad.transforms.calling.argnums import Argnums, Selection, checked_argnums, select
from tapegrad.transforms.calling.call_structures import call_arguments
from tapegrad.transforms.calling.callables import UnlessNested
from tapegrad.transforms.calling.fast_path import in_blocks, product_path
from tapegrad.transforms.calling.known_paths import AlternatingCalls
from tapegrad.transforms.grad import Grad
from tapegrad.transforms.jacobians import sparse as sparse_derivatives
from tapegrad.transforms.jacobians.jacobian import Jacobian
from tapegrad.transforms.jit import Jit


@knows_argnum
def hvp(function: Callable[..., Any], argnums: Argnums | list[int] = 0) -> "HessianProduct":
    """Make a function that multiplies the Hessian of `function`, a scalar, by a vector.

    Parameters
    ----------
    function : callable
        Its result is a scalar Tensor. Of a ``jit(f)`` the product is replayed.
    argnums : int or sequence of int, default 0
        Which positional arguments to differentiate by, as for `grad`.

    Returns
    -------
    callable
        Takes the arguments of `function` and, last, a direction of the structure and shapes of the argument that is
        differentiated by (for a tuple of `argnums`, a tuple of them). Returns the product in the same structure.

    Raises
    ------
    ValueError
        If the direction has another structure or other shapes, or the function's result is not a scalar.

    Notes
    -----
    The product is the tangent of the gradient along the direction [1]_, and costs about two to three gradients; the
    Hessian itself is not computed. Through a custom op without a ``jvp`` it is the gradient of the gradient's inner
    product with the direction.

    References
    ----------
    .. [1] B. A. Pearlmutter, "Fast exact multiplication by the Hessian", Neural Computation 6(1), 1994.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> f = tg.jit(lambda x: tg.sum(x**3))
    >>> tg.hvp(f)(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([  6., 120.])
    """
    return HessianProduct(function, argnums)


@overload
def hessian(
    function: Callable[..., Any],
    argnums: Argnums | list[int] = 0,
    has_aux: bool = False,
    sparse: Literal[False] = False,
    pattern: None = None,
) -> "Hessian": ...
@overload
def hessian(
    function: Callable[..., Any],
    argnums: Argnums | list[int] = 0,
    has_aux: bool = False,
    *,
    sparse: Literal[True, "csr", "csc", "coo"],
    pattern: Any = None,
) -> "sparse_derivatives.SparseDerivative": ...
@knows_argnum
def hessian(
    function: Callable[..., Any],
    argnums: Argnums | list[int] = 0,
    has_aux: bool = False,
    sparse: bool | Literal["csr", "csc", "coo"] = False,
    pattern: Any = None,
) -> Any:
    """Make a function that returns the second derivatives of `function`, a scalar.

    Parameters
    ----------
    function : callable
        Its result is a scalar Tensor. Of a ``jit(f)`` the Hessian is replayed, in a single call into compiled code.
        Other functions are run at each call, as by `jacobian`.
    argnums : int or sequence of int, default 0
        Which positional arguments to differentiate by, as for `grad`.
    has_aux : bool, default False
        Whether `function` returns a pair of the value and of anything else, which is not differentiated.
    sparse : bool or {'csr', 'csc', 'coo'}, default False
        Whether the Hessian is a sparse matrix of SciPy, as for `jacobian`.
    pattern : sparse matrix or Pattern, optional
        Where entries of the sparse Hessian may be other than zero, if that is known; one triangle is enough.

    Returns
    -------
    callable
        Takes the arguments of `function`. For an argument of shape ``s`` it returns an array of shape ``s + s``. For
        a structure it returns that structure once for each leaf: of ``{"a": x, "b": y}`` the entry ``["a"]["b"]``
        has the shape ``x.shape + y.shape``. With `has_aux` it returns ``(hessian, aux)``.

    Raises
    ------
    ValueError
        If the function's result is not a scalar; if a `pattern` lacks entries, when it is first used.
    CertificateError
        As for `jacobian`.

    Notes
    -----
    Second derivatives at a kink are 0. A sparse Hessian is computed by one product with a direction for each colour,
    where columns of two colours have entries in common that make stars alone [1]_; so each entry is found in one of
    the products, where it stands or where its mirror image does.

    References
    ----------
    .. [1] A. H. Gebremedhin, A. Tarafdar, F. Manne, A. Pothen, "New acyclic and star coloring algorithms with
       application to computing Hessians", SIAM Journal on Scientific Computing 29(3), 2007.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 3.0]))
    array([[6., 2.],
           [2., 0.]])
    >>> H = tg.hessian(lambda x: tg.sum(tg.sin(x)) * x[0], sparse=True)
    >>> print(H.pattern(np.ones(6)))
    6 x 6, 16 entries (44 %), 2 colours
    ######
    ##....
    #.#...
    #..#..
    #...#.
    #....#
    """
    if sparse or pattern is not None:
        return sparse_derivatives.hessian(function, argnums, has_aux, sparse, pattern)
    return Hessian(function, argnums, has_aux)


class HessianProduct(DerivativeTransform):
    """Function made by `hvp`."""

    name = "hvp"

    def __init__(self, function: Callable[..., Any], argnums: Argnums | list[int]) -> None:
        super().__init__(function)
        self._argnums = checked_argnums(argnums)
        self._gradient = Grad(function, argnums).named(self.name)
        self._forward = True  # until an op turns out to have no forward mode

    @property
    def settings(self) -> tuple[Any, ...]:
        return (self._argnums,)

    def _derivative(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) < 2:
            raise TypeError("hvp: call it with the function's arguments and, last, the direction")
        selection, direction = select(args[:-1], self._argnums), args[-1]
        product = self._product(selection, jvp.directions(selection, direction, "hvp"), direction, kwargs)
        return product if selection.are_leaves else selection.unflatten_results(flatten(product)[0])

    def _product(
        self, selection: Selection, directions: list[Any], given: Any, kwargs: dict[str, Any]
    ) -> Any:
        """Compute the product, forwards over the gradient where every op has a forward mode."""
        if self._forward:
            on_tensors = has_tensor((selection.args, directions), kwargs)
            try:
                return self.compute(self._gradient, on_tensors, selection, directions, given, kwargs)
            except NoForwardModeError:
                self._forward = False
        return self._backwards(selection, directions, kwargs)

    def _nested(
        self,
        function: Callable[..., Any],
        selection: Selection,
        directions: list[Any],
        given: Any,
        kwargs: dict[str, Any],
    ) -> Any:
        """Compute the tangent of the gradient as a Tensor."""
        return jvp.nested_jvp(functools.partial(function, **kwargs), selection, directions)[1]

    def _eager(
        self,
        function: Callable[..., Any],
        selection: Selection,
        directions: list[Any],
        given: Any,
        kwargs: dict[str, Any],
    ) -> Any:
        """Compute the tangent of the gradient by a sweep over the eager tape."""
        return jvp.eager_jvp(functools.partial(function, **kwargs), selection, directions)[1]

    def _backwards(self, selection: Selection, directions: list[Any], kwargs: dict[str, Any]) -> Any:
        """Differentiate the inner product of gradient and direction: the same product, as the Hessian is symmetric."""
        shifted = tuple(number + 1 for number in selection.numbers)
        argnums = shifted if isinstance(self._argnums, tuple) else shifted[0]
        return Grad(AlongDirection(self.function, self._argnums), argnums)(
            directions, *selection.args, **kwargs
        )

    def _replay(
        self,
        function: Jit[..., Any],
        selection: Selection,
        directions: list[Any],
        given: Any,
        kwargs: dict[str, Any],
    ) -> Any:
        """Replay the tangent of the gradient."""
        arguments = function.arguments(selection.args, kwargs)
        spec = ProgramSpec(JVP, selection.inputs(arguments))
        trace, results = function.run(arguments, spec, check_forward_rules, given=directions)
        call = call_arguments(arguments, selection.args, kwargs, (given,))
        self._keep(product_path(function, trace, spec, call, selection))
        return trace.tangents(arguments.arrays, results)


class _OfGradient(Transform):
    """A function made of the gradient of another one."""

    name = "hessian"

    def __init__(
        self, function: Callable[..., Any], argnums: Argnums | list[int], has_aux: bool = False
    ) -> None:
        super().__init__(function)
        self._gradient = Grad(function, argnums, has_aux).named(self.name)
        self._has_aux = has_aux

    @property
    def settings(self) -> tuple[Any, ...]:
        return self._gradient.settings

    def _leaves(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Return the leaves of the gradient."""
        return flatten(self._gradient(*args, **kwargs))[0]


class AlongDirection(_OfGradient):
    """The inner product of the gradient with a direction, the first argument, which is a list of leaves."""

    def __call__(self, directions: list[Any], *args: Any, **kwargs: Any) -> Any:
        leaves = self._leaves(*args, **kwargs)
        multiply = elementwise.FUNCTIONS["multiply"]
        terms = [reductions.sum(multiply(g, d)) for g, d in zip(leaves, directions, strict=True)]
        return functools.reduce(elementwise.FUNCTIONS["add"], terms)


class Hessian(UnlessNested, AlternatingCalls, Transform):
    """Function made by `hessian`.

    Attributes
    ----------
    of_one
        The Jacobian of the gradient, for a single argument that is one leaf.
    """

    name = "hessian"

    def __init__(
        self, function: Callable[..., Any], argnums: Argnums | list[int], has_aux: bool = False
    ) -> None:
        Transform.__init__(self, function)
        AlternatingCalls.__init__(self)
        self._argnums = checked_argnums(argnums)
        self._has_aux = has_aux
        # Of a square Jacobian "auto" takes the columns, unless an op has no forward mode.
        self.of_one = Jacobian(Grad(function, argnums, has_aux).named(self.name), argnums, "auto", has_aux)
        self._of_all = Jacobian(FlatGradient(function, argnums, has_aux), argnums, "auto", has_aux)

    @property
    def settings(self) -> tuple[Any, ...]:
        return self._argnums, self._has_aux

    def _by_python(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute the Hessian for any arguments."""
        selection = select(args, self._argnums, "hessian")
        if selection.definitions == [LEAF] and not isinstance(self._argnums, tuple):
            found = self.of_one._by_python(args, kwargs)
            self._keep(self.of_one.latest)
            return found
        found = self._of_all._by_python(args, kwargs)
        if (path := self._of_all.latest) is not None:
            self._keep(in_blocks(path, self._has_aux))
        columns, definition = flatten(found[0] if self._has_aux else found)
        blocks = self._taken_apart(selection, columns, definition)
        return (blocks, found[1]) if self._has_aux else blocks

    def _run_observed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        Hessian(self.function, *self.settings)._by_python(args, kwargs)  # whose parts have no fast paths yet

    def _taken_apart(self, selection: Selection, columns: list[Any], definition: Any) -> Any:
        """Split the Hessian by leaves into a structure of structures."""
        blocks, start = [], 0
        for leaf in selection.leaves:
            stop = start + math.prod(np.shape(leaf))
            rows = [column[start:stop].reshape(np.shape(leaf) + column.shape[1:])[()] for column in columns]
            blocks.append(unflatten(definition, rows))
            start = stop
        return selection.unflatten_results(blocks)


class FlatGradient(_OfGradient):
    """The gradient with all its leaves in one vector."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        gradient = self._gradient(*args, **kwargs)
        leaves, _ = flatten(gradient[0] if self._has_aux else gradient)
        tensors = [leaf if is_tensor(leaf) else from_array(leaf, constant=True) for leaf in leaves]
        vector = concatenate([reshape(tensor, -1) for tensor in tensors])
        return (vector, gradient[1]) if self._has_aux else vector

"""`Compiled.cfunc`: a compiled function as a C function pointer."""

from typing import Any

from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.interop.assignment import Assignment, MisfitError, assign
from tapegrad.interop.signatures import SIGNATURES, USER, CSignature, parse
from tapegrad.interop.thunk import address_of
from tapegrad.transforms.compiled.compiled import Compiled


class CFunction(Uncopied):
    """A compiled function as C calls it; made by `Compiled.cfunc`. Whoever is given the address keeps this object.

    Attributes
    ----------
    address
        Address of the C function.
    user_data
        What it is to be given as user data, an address; 0 if its signature has none.
    signature
        Its signature.
    ctypes
        It as a function of `ctypes`.
    compiled
        The compiled function.
    failure_address
        Address of ``const char *failure(void *compiled, int64_t number)``, to be given ``compiled.address``: the line
        of the branch at which a specialization has stopped last (that of the first example has number 0), NULL if it
        never has, or if there is none of this number.
    """

    def __init__(self, compiled: Compiled, signature: CSignature, assignment: Assignment) -> None:
        has_user_data = any(parameter.role == USER for parameter in signature.parameters)
        compiled.handle.escape()
        self.compiled = compiled
        self.signature = signature.text
        self.failure_address = compiled.handle.failure_address
        self.user_data = compiled.address if has_user_data else 0
        inputs = len(compiled.inputs)
        own = 0 if has_user_data else compiled.address
        self.address = address_of(signature, assignment, inputs, inputs + len(compiled.results), own)
        self.ctypes: Any = signature.ctypes()(self.address)
        self.ctypes.compiled = compiled  # whoever holds it holds what it needs

    def __repr__(self) -> str:
        return f"<C function {self.signature} at {self.address:#x} of {self.compiled!r}>"


def cfunc(compiled: Compiled, signature: str) -> CFunction:
    """Make a C function pointer of a compiled function.

    Parameters
    ----------
    signature : str
        Who will call it, one of "nutpie", "scipy", "nlopt", "ipopt", "numbalsoda", "odepack"; or a C signature, such as
        ``"double(int n, const double *x, double *g, void *user)"``.

        In a signature, ``const double *`` are the inputs in order, other pointers to double the results that are
        arrays, and those named ``v``, ``f``, ``value`` or ``logp`` results that are numbers; where nothing is const,
        inputs come first. A ``double`` is an input that is a number. Complex numbers are given as ``double complex *``.
        Integers named ``n`` or ``dim`` are the number of elements of the first input, ``m`` that of the first result,
        and ``new_x`` and ``unused`` are ignored.
        ``void *`` is user data; without, there is a C function for each compiled function. ``float`` stands for
        float32. A null pointer in place of a result says that it is not wanted.

    Returns
    -------
    CFunction
        With ``.address``, ``.user_data`` and ``.ctypes``. It keeps the compiled function alive, and must be kept as
        long as the address is used.

    Raises
    ------
    ValueError
        If it is no signature that is understood, or the compiled function has other arguments.

    Notes
    -----
    What is returned says whether it went well: ``double`` the value, nan where there is none; ``bool`` whether it went
    well; ``int`` 0, or 1 where other inputs may have results (a result is not finite, a matrix is singular or not
    positive definite, a derivative does not exist), or -1 for errors of the program: a branch that no example took,
    another size, an index out of range, an exception of a custom op. nutpie and SUNDIALS read numbers above 0 as
    recoverable, numbers below as the end. Where nothing or a double is returned, the results of a call that failed are
    filled with nan, unless a size was wrong. nutpie's function of the trace takes nan for a result, and returns 0 with
    it. It may be called by many threads at once, with or without the GIL.

    Examples
    --------
    >>> import ctypes, numpy as np, tapegrad as tg
    >>> h = tg.compile(tg.value_and_grad(lambda x: tg.sum(x**2)), np.zeros(2))
    >>> p = h.cfunc("double(int n, const double *x, double *g, void *user)")
    >>> x, g = (ctypes.c_double * 2)(1.0, 2.0), (ctypes.c_double * 2)()
    >>> p.ctypes(2, x, g, p.user_data), list(g)
    (5.0, [2.0, 4.0])
    """
    if not isinstance(signature, str):
        raise TypeError(f"cfunc: a name or a C signature is expected, not {type(signature).__name__}")
    texts = SIGNATURES.get(signature)
    if texts is None and "(" not in signature:
        raise ValueError(
            f"cfunc: {signature!r} is neither one of {', '.join(SIGNATURES)} nor a C signature such as"
            " 'double(int n, const double *x, double *g, void *user)'"
        )
    faults = []
    for text in texts or (signature,):
        parsed = parse(text)
        try:
            return CFunction(compiled, parsed, assign(compiled, parsed))
        except MisfitError as error:
            faults.append(f"{text}: {error}")
    raise ValueError(f"cfunc: {compiled!r} cannot be called as " + "; nor as ".join(faults))

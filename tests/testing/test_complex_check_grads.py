"""`check_grads` by complex arguments, and of complex results."""

import numpy as np
import pytest

import tapegrad as tg

_Z = np.array([1 + 2j, 3 - 1j])
_RIGHT = {
    "both": (lambda z: abs(z) * z, (_Z,)),
    "real result": (lambda z: (z.real * z.imag).sum(), (_Z,)),
    "real argument": (lambda z, x: z * x, (_Z, 2.0)),
    "number": (lambda z: z**2, (1 + 2j,)),
    "replayed": (tg.jit(lambda z: np.conj(z) * z * z), (_Z,)),
    "single precision": (lambda z: z * z, (_Z.astype(np.complex64),)),
}


@pytest.mark.parametrize("name", _RIGHT)
def test_right_derivatives_pass(name):
    tg.check_grads(*_RIGHT[name])


@pytest.mark.parametrize("modes", ["fwd", "rev"])
def test_wrong_derivatives_are_found(modes):
    with pytest.raises(AssertionError, match="a wrong derivative"):
        tg.check_grads(lambda z: z * np.conj(z).detach(), (_Z,), order=1, modes=modes)

"""QR factors of complex matrices: those of `systems.qr`, without lanes."""

from tapegrad.engine.kernels.language.lapack import complex_libraries
from tapegrad.engine.kernels.systems.qr import factor_one_by_one as qr_forward  # noqa: F401
from tapegrad.engine.kernels.systems.qr import qr_reverse as qr_reverse
from tapegrad.engine.kernels.systems.qr import qr_tangent as qr_tangent

LIBRARY = complex_libraries(("qr",), "geqrf", "ungqr")

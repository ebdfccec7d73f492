"""LU factors, systems of equations and inverses of complex matrices: those of `systems`, without lanes."""

from tapegrad.engine.kernels.language.lapack import complex_libraries
from tapegrad.engine.kernels.systems.inverses import inv_reverse as inv_reverse
from tapegrad.engine.kernels.systems.inverses import inv_tangent as inv_tangent
from tapegrad.engine.kernels.systems.inverses import invert_one_by_one as inv_forward  # noqa: F401
from tapegrad.engine.kernels.systems.lu import factor_one_by_one as lu_forward  # noqa: F401
from tapegrad.engine.kernels.systems.lu import lu_solve_reverse as lu_solve_reverse
from tapegrad.engine.kernels.systems.lu import lu_solve_tangent as lu_solve_tangent
from tapegrad.engine.kernels.systems.lu import solve_one_by_one as lu_solve_forward  # noqa: F401

LIBRARY = complex_libraries(("lu", "lu_solve", "inv"), "getrf", "getri")

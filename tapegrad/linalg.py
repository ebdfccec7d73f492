"""Linear algebra of Tensors, by the names and with the arguments of `numpy.linalg` and `scipy.linalg`."""

from numpy.linalg import LinAlgError as LinAlgError

from tapegrad.frontend.functions.decompositions import eigh as eigh
from tapegrad.frontend.functions.decompositions import eigvalsh as eigvalsh
from tapegrad.frontend.functions.decompositions import qr as qr
from tapegrad.frontend.functions.decompositions import svd as svd
from tapegrad.frontend.functions.decompositions import svdvals as svdvals
from tapegrad.frontend.functions.determinants import det as det
from tapegrad.frontend.functions.determinants import slogdet as slogdet
from tapegrad.frontend.functions.eigenvalues import eig as eig
from tapegrad.frontend.functions.eigenvalues import eigvals as eigvals
from tapegrad.frontend.functions.least_squares import cond as cond
from tapegrad.frontend.functions.least_squares import lstsq as lstsq
from tapegrad.frontend.functions.least_squares import pinv as pinv
from tapegrad.frontend.functions.matrix_chains import matrix_power as matrix_power
from tapegrad.frontend.functions.matrix_chains import multi_dot as multi_dot
from tapegrad.frontend.functions.matrix_functions import expm as expm
from tapegrad.frontend.functions.matrix_functions import (
    solve_continuous_lyapunov as solve_continuous_lyapunov,
)
from tapegrad.frontend.functions.matrix_functions import solve_discrete_lyapunov as solve_discrete_lyapunov
from tapegrad.frontend.functions.matrix_functions import solve_sylvester as solve_sylvester
from tapegrad.frontend.functions.matrix_functions import sqrtm as sqrtm
from tapegrad.frontend.functions.matrix_stacks import cross as cross
from tapegrad.frontend.functions.matrix_stacks import diagonal as diagonal
from tapegrad.frontend.functions.matrix_stacks import matmul as matmul
from tapegrad.frontend.functions.matrix_stacks import matrix_transpose as matrix_transpose
from tapegrad.frontend.functions.matrix_stacks import outer as outer
from tapegrad.frontend.functions.matrix_stacks import tensordot as tensordot
from tapegrad.frontend.functions.matrix_stacks import trace as trace
from tapegrad.frontend.functions.matrix_stacks import vecdot as vecdot
from tapegrad.frontend.functions.norms import matrix_norm as matrix_norm
from tapegrad.frontend.functions.norms import norm as norm
from tapegrad.frontend.functions.norms import vector_norm as vector_norm
from tapegrad.frontend.functions.predicates import matrix_rank as matrix_rank
from tapegrad.frontend.functions.structured import block_diag as block_diag
from tapegrad.frontend.functions.structured import toeplitz as toeplitz
from tapegrad.frontend.functions.systems import inv as inv
from tapegrad.frontend.functions.systems import lu_factor as lu_factor
from tapegrad.frontend.functions.systems import lu_solve as lu_solve
from tapegrad.frontend.functions.systems import solve as solve
from tapegrad.frontend.functions.systems import tensorinv as tensorinv
from tapegrad.frontend.functions.systems import tensorsolve as tensorsolve
from tapegrad.frontend.functions.triangles import cho_factor as cho_factor
from tapegrad.frontend.functions.triangles import cho_solve as cho_solve
from tapegrad.frontend.functions.triangles import cholesky as cholesky
from tapegrad.frontend.functions.triangles import solve_triangular as solve_triangular

"""Linear algebra of Tensors, by the names and with the arguments of `numpy.linalg` and `scipy.linalg`."""

from numpy.linalg import LinAlgError as LinAlgError

from tapegrad.frontend.functions.matrices.decompositions import eigh as eigh
from tapegrad.frontend.functions.matrices.decompositions import eigvalsh as eigvalsh
from tapegrad.frontend.functions.matrices.decompositions import qr as qr
from tapegrad.frontend.functions.matrices.decompositions import svd as svd
from tapegrad.frontend.functions.matrices.decompositions import svdvals as svdvals
from tapegrad.frontend.functions.matrices.determinants import det as det
from tapegrad.frontend.functions.matrices.determinants import slogdet as slogdet
from tapegrad.frontend.functions.matrices.distances import cdist as cdist
from tapegrad.frontend.functions.matrices.distances import pdist as pdist
from tapegrad.frontend.functions.matrices.eigenvalues import eig as eig
from tapegrad.frontend.functions.matrices.eigenvalues import eigvals as eigvals
from tapegrad.frontend.functions.matrices.least_squares import cond as cond
from tapegrad.frontend.functions.matrices.least_squares import lstsq as lstsq
from tapegrad.frontend.functions.matrices.least_squares import pinv as pinv
from tapegrad.frontend.functions.matrices.matrix_chains import matrix_power as matrix_power
from tapegrad.frontend.functions.matrices.matrix_chains import multi_dot as multi_dot
from tapegrad.frontend.functions.matrices.matrix_functions import coshm as coshm
from tapegrad.frontend.functions.matrices.matrix_functions import cosm as cosm
from tapegrad.frontend.functions.matrices.matrix_functions import expm as expm
from tapegrad.frontend.functions.matrices.matrix_functions import logm as logm
from tapegrad.frontend.functions.matrices.matrix_functions import sinhm as sinhm
from tapegrad.frontend.functions.matrices.matrix_functions import sinm as sinm
from tapegrad.frontend.functions.matrices.matrix_functions import (
    solve_continuous_lyapunov as solve_continuous_lyapunov,
)
from tapegrad.frontend.functions.matrices.matrix_functions import (
    solve_discrete_lyapunov as solve_discrete_lyapunov,
)
from tapegrad.frontend.functions.matrices.matrix_functions import solve_sylvester as solve_sylvester
from tapegrad.frontend.functions.matrices.matrix_functions import sqrtm as sqrtm
from tapegrad.frontend.functions.matrices.matrix_functions import tanhm as tanhm
from tapegrad.frontend.functions.matrices.matrix_functions import tanm as tanm
from tapegrad.frontend.functions.matrices.norms import matrix_norm as matrix_norm
from tapegrad.frontend.functions.matrices.norms import norm as norm
from tapegrad.frontend.functions.matrices.norms import vector_norm as vector_norm
from tapegrad.frontend.functions.matrices.structured import block_diag as block_diag
from tapegrad.frontend.functions.matrices.structured import cho_solve_banded as cho_solve_banded
from tapegrad.frontend.functions.matrices.structured import cholesky_banded as cholesky_banded
from tapegrad.frontend.functions.matrices.structured import circulant as circulant
from tapegrad.frontend.functions.matrices.structured import hankel as hankel
from tapegrad.frontend.functions.matrices.structured import solve_banded as solve_banded
from tapegrad.frontend.functions.matrices.structured import solve_toeplitz as solve_toeplitz
from tapegrad.frontend.functions.matrices.structured import solveh_banded as solveh_banded
from tapegrad.frontend.functions.matrices.structured import toeplitz as toeplitz
from tapegrad.frontend.functions.matrices.systems import inv as inv
from tapegrad.frontend.functions.matrices.systems import lu as lu
from tapegrad.frontend.functions.matrices.systems import lu_factor as lu_factor
from tapegrad.frontend.functions.matrices.systems import lu_solve as lu_solve
from tapegrad.frontend.functions.matrices.systems import solve as solve
from tapegrad.frontend.functions.matrices.systems import tensorinv as tensorinv
from tapegrad.frontend.functions.matrices.systems import tensorsolve as tensorsolve
from tapegrad.frontend.functions.matrices.triangles import cho_factor as cho_factor
from tapegrad.frontend.functions.matrices.triangles import cho_solve as cho_solve
from tapegrad.frontend.functions.matrices.triangles import cholesky as cholesky
from tapegrad.frontend.functions.matrices.triangles import solve_triangular as solve_triangular
from tapegrad.frontend.functions.products.matrix_stacks import cross as cross
from tapegrad.frontend.functions.products.matrix_stacks import diagonal as diagonal
from tapegrad.frontend.functions.products.matrix_stacks import matmul as matmul
from tapegrad.frontend.functions.products.matrix_stacks import matrix_transpose as matrix_transpose
from tapegrad.frontend.functions.products.matrix_stacks import outer as outer
from tapegrad.frontend.functions.products.matrix_stacks import tensordot as tensordot
from tapegrad.frontend.functions.products.matrix_stacks import trace as trace
from tapegrad.frontend.functions.products.matrix_stacks import vecdot as vecdot
from tapegrad.frontend.functions.reductions.predicates import matrix_rank as matrix_rank
from tapegrad.frontend.functions.sparse_systems.cholesky import SparseCholesky as SparseCholesky
from tapegrad.frontend.functions.sparse_systems.cholesky import SparseFactor as SparseFactor
from tapegrad.frontend.tensor.modes import errstate as errstate
from tapegrad.sparse.systems import spsolve as spsolve

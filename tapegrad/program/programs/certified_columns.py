"""Certificate of columns that share tangents: the Jacobian times a random vector is the tangent along that."""

import math
from collections.abc import Sequence

import numpy as np

from tapegrad.autodiff.sparsity.certificate import ReferenceDerivative, certify
from tapegrad.program.programs.workspace import Workspace


def certify_columns(
    name: str, blocks: Sequence[np.ndarray], arrays: Sequence[np.ndarray], tangents: Workspace
) -> None:
    """Compare a Jacobian with tangents.

    Parameters
    ----------
    name
        The name of the function.
    blocks
        The Jacobian by each input that it differentiates by.
    arrays
        All inputs.
    tangents
        A workspace of the program that computes tangents of the outputs along those inputs.

    Raises
    ------
    CertificateError
        If they differ: columns share tangents that must not.
    """
    wrt, like = tangents.program.spec.wrt, tangents.program.bindings[-1]
    ends = np.cumsum([arrays[k].size for k in wrt])
    rows = math.prod(blocks[0].shape[: blocks[0].ndim - arrays[wrt[0]].ndim])
    matrix = np.concatenate(
        [each.reshape(rows, arrays[k].size) for each, k in zip(blocks, wrt, strict=True)], axis=1
    )

    def product(vector: np.ndarray) -> np.ndarray:
        parts = zip(np.split(vector, ends[:-1]), wrt, strict=True)
        x_dots = [part.reshape(arrays[k].shape).astype(arrays[k].dtype) for part, k in parts]
        found: np.ndarray = tangents.run([*arrays, *x_dots])[1][0].reshape(-1).astype(float)
        return found

    epsilon = max(float(np.finfo(kind).eps) for kind in (like.dtype, *(each.dtype for each in blocks)))
    # By the program of the Jacobian, columns are the very numbers of their own tangents: no terms cancel otherwise
    certify(f"jacobian of {name}", matrix, ReferenceDerivative(product, lambda vector: 0.0, epsilon))

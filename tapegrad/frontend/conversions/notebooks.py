"""Display of Tensors in notebooks."""

import html

from tapegrad.frontend.tensor.tensor import Tensor, bind_methods


def _repr_html(x: Tensor) -> str:
    """Return the elements, elided for a large Tensor, above a line with shape and dtype."""
    parts = [f"shape {x.shape}", str(x.dtype), "constant" if x.constant else "differentiable"]
    described = ", ".join([*parts, "view"] if x.base is not None else parts)
    return f"<div><pre>{html.escape(repr(x))}</pre><small>{html.escape(described)}</small></div>"


bind_methods(_repr_html_=_repr_html)

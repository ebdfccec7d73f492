"""Conditions that must hold."""

from typing import Any

from tapegrad.interop.packages import needed
from tapegrad.interop.pytensor_graphs.dispatch import Expression, tapegrad_funcify
from tapegrad.interop.pytensor_graphs.functions import check

_raise: Any = needed("pytensor.raise_op", "pytensor")


@tapegrad_funcify.register(_raise.CheckAndRaise)
def _check(op: Any, node: Any = None, **_: Any) -> Expression:
    conditions = "".join(f", {{{j}}}" for j in range(1, len(node.inputs)))
    message = repr(str(op.msg)).replace("{", "{{").replace("}", "}}")
    return Expression(f"<check>({{0}}, {message}{conditions})", {"check": check})

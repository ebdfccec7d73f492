"""The number of every op on a tape: the place of its row in the table."""

from tapegrad.ops.elementwise import ELEMENTWISE
from tapegrad.ops.row import Op, Structural
from tapegrad.ops.structural import STRUCTURAL

BY_NAME: dict[str, Op] = {op.name: op for op in ELEMENTWISE}
_ROWS: tuple[Op | Structural, ...] = (*ELEMENTWISE, *STRUCTURAL)
CODES: dict[str, int] = {row.name: code for code, row in enumerate(_ROWS)}

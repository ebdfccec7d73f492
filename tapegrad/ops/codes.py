"""Op codes: the number of each op on a tape, which is the index of its row in the table."""

from tapegrad.ops.elementwise import ELEMENTWISE
from tapegrad.ops.row import Op, Row
from tapegrad.ops.structural import STRUCTURAL

BY_NAME: dict[str, Op] = {op.name: op for op in ELEMENTWISE}
ROWS: tuple[Row, ...] = (*ELEMENTWISE, *STRUCTURAL)
CODES: dict[str, int] = {row.name: code for code, row in enumerate(ROWS)}
for _code, _row in enumerate(ROWS):
    if CODES[_row.name] != _code:
        raise ValueError(f"{_row.name}: two rows of the table have this name")

COPY = CODES["positive"]
GUARDS = frozenset(code for code, row in enumerate(ROWS) if row.kind == "guard")

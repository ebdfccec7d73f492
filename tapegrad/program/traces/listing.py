"""Listings: tuples of records that are printed as a table."""

import html
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")
_MAX_SHOWN_ROWS = 25


class Listing(tuple[T, ...], Generic[T]):
    """A tuple of records, each a named tuple; printed, it is a table with a title above."""

    title: str = ""
    most_shown = _MAX_SHOWN_ROWS
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, records: Sequence[T], title: str, *notes: str) -> Any:
        """Make one, with lines above and below the table."""
        made = cls(records)
        made.title, made.notes = title, notes
        return made

    def _head(self) -> tuple[str, ...]:
        raise NotImplementedError

    def _cells(self, record: T) -> tuple[str, ...]:
        raise NotImplementedError

    def _rows(self) -> list[tuple[str, ...]]:
        return [self._head(), *map(self._cells, self._shown())] if self else []

    def _shown(self) -> Sequence[T]:
        """Return the records that are printed."""
        return self[: self.most_shown]

    def _below(self) -> list[str]:
        more = len(self) - self.most_shown
        return [*([f"... and {more:,} more"] if more > 0 else []), *self.notes]

    def __repr__(self) -> str:
        rows = self._rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([self.title, *(f"  {line}" for line in lines), *self._below()])

    def _repr_html_(self) -> str:
        return html_table(self.title, self._rows(), self._below())


def html_table(title: str, rows: Sequence[Sequence[str]], below: Sequence[str] = ()) -> str:
    """Return rows of text as an HTML table, the first of them its head, with lines above and below."""
    body = "".join(
        f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in row)}</tr>"
        for tag, row in zip(("th", *["td"] * len(rows)), rows, strict=False)
    )
    lines = "".join(f"<div>{html.escape(line)}</div>" for line in below)
    return f"<div>{html.escape(title)}</div><table>{body}</table>{lines}"

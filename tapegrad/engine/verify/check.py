"""Hold a tape against the rules; refuse one that breaks any."""

import os
from collections.abc import Callable, Iterable, Sequence

from tapegrad.engine import kernel_table
from tapegrad.engine.tape import checksums
from tapegrad.engine.tape.snapshot import Snapshot
from tapegrad.engine.tape.tape import Tape
from tapegrad.engine.verify import rules
from tapegrad.errors import IllegalTapeError
from tapegrad.ops import CODES

Rule = Callable[[Snapshot, int], str]

# In this order: a rule relies on those before it.
SLOT_RULES: tuple[Rule, ...] = (
    rules.slot_is_held,
    rules.slot_lies_on_a_buffer,
    rules.slot_has_a_geometry,
    rules.slot_stays_inside_its_buffer,
)
INSTRUCTION_RULES: tuple[Rule, ...] = (
    rules.op_is_known,
    rules.arity_matches_the_row,
    rules.slots_are_live,
    rules.no_mark_is_left,
    rules.operands_are_written_before,
    rules.kernel_has_the_dtype,
    rules.operands_have_the_dtypes_of_the_row,
    rules.result_has_the_dtype_of_the_row,
    rules.shapes_fit,
    rules.parameters_fit,
)
BUFFER_RULES: tuple[Rule, ...] = (
    rules.producer_writes_the_buffer,
    rules.derivatives_come_from_an_operand,
    rules.only_floats_have_derivatives,
    rules.users_are_counted,
    rules.keeps_are_counted,
    rules.kept_primal_is_there,
)
RULES = (rules.lists_end, *SLOT_RULES, *INSTRUCTION_RULES, *BUFFER_RULES)


class _Switch:
    """Whether every tape is checked before it is swept or made into a program."""

    def __init__(self) -> None:
        self._on = os.environ.get("TAPEGRAD_CHECK", "0") not in ("", "0")
        self._followers: list[Tape] = []

    @property
    def on(self) -> bool:
        return self._on

    @on.setter
    def on(self, on: bool) -> None:
        self._on = on
        for tape in self._followers:
            checksums.switch_checksums(tape.header, on)

    def follow(self, tape: Tape) -> None:
        """Take checksums on a tape whenever checks are switched on."""
        self._followers.append(tape)
        if self._on:
            checksums.switch_checksums(tape.header, True)


switch = _Switch()


def check(tape: Tape) -> None:
    """Raise if a tape is not legal.

    Raises
    ------
    IllegalTapeError
        Naming the entry, what is wrong with it, and the rule, a function of `engine.verify`.
    """
    t = Snapshot(tape)
    broken = rules.lists_end(t)
    if broken:
        raise IllegalTapeError(
            f"illegal tape of {t.instructions.count} instructions: {broken} (rule lists_end)"
        )
    _apply(SLOT_RULES, t, list(t.slots), "slot")
    _apply(INSTRUCTION_RULES[:1], t, range(t.instructions.count), "instruction")
    _apply(INSTRUCTION_RULES[1:], t, t.live, "instruction")
    _apply(BUFFER_RULES, t, sorted(t.slots_on), "buffer")


def check_if_enabled(tape: Tape) -> None:
    """`check`, if checks are switched on: by ``TAPEGRAD_CHECK=1`` in the environment, or ``switch.on = True``."""
    if switch.on:
        check(tape)


def _apply(applied: Iterable[Rule], t: Snapshot, entries: Sequence[int], kind: str) -> None:
    """Hold each entry against each rule."""
    for rule in applied:
        for k in entries:
            broken = rule(t, k)
            if broken:
                raise IllegalTapeError(f"illegal tape: {_named(t, kind, k)}: {broken} (rule {rule.__name__})")


def _named(t: Snapshot, kind: str, k: int) -> str:
    """What an entry is called in an error: an instruction is printed, with slots s0, s1, ..."""
    if kind != "instruction":
        return f"{kind} {k}"
    instruction = t.instructions[k]
    known = 0 <= instruction.op < len(CODES)
    name = kernel_table.op_name(instruction.op) if known else f"op {instruction.op}"
    return (
        f"instruction {k}, s{instruction.result} = {name}({', '.join(f's{s}' for s in instruction.operands)})"
    )

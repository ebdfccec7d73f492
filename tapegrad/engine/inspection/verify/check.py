"""Hold a tape, or what a pass has made of it, against the rules; refuse what breaks any."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from hashlib import blake2b

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_view import TapeView, copied, read_fields, without_addresses
from tapegrad.engine.inspection.verify import pass_rules, rules
from tapegrad.engine.inspection.verify.switch import switch
from tapegrad.engine.tape.tape import Tape
from tapegrad.errors import IllegalTapeError
from tapegrad.ops import CODES

Rule = Callable[[TapeView, int], str]

# In this order: a rule relies on those before it.
SLOT_RULES: tuple[Rule, ...] = (
    rules.slot_is_held,
    rules.slot_lies_on_a_buffer,
    rules.slot_has_a_geometry,
    rules.slot_stays_inside_its_buffer,
)
PLACE_RULES: tuple[Rule, ...] = (
    rules.op_is_known,
    rules.arity_matches_the_row,
    rules.slots_are_live,
    rules.no_mark_is_left,
    rules.operands_are_written_before,
    rules.in_place_ops_keep_the_place,
)
# What depends on nothing but the form of an instruction.
FORM_RULES: tuple[Rule, ...] = (
    rules.kernel_has_the_dtype,
    rules.operands_have_the_dtypes_of_the_row,
    rules.result_has_the_dtype_of_the_row,
    rules.shapes_fit,
    rules.parameters_fit,
)
ORIGIN_RULES: tuple[Rule, ...] = (rules.factors_come_from_their_matrices,)
INSTRUCTION_RULES = (*PLACE_RULES, *FORM_RULES, *ORIGIN_RULES)
DERIVATIVE_RULES: tuple[Rule, ...] = (
    rules.derivatives_come_from_an_operand,
    rules.only_floats_have_derivatives,
)
# What the engine keeps account of, which passes do not.
COUNT_RULES: tuple[Rule, ...] = (
    rules.producer_writes_the_buffer,
    rules.users_are_counted,
    rules.saved_are_counted,
    rules.kept_primal_is_there,
)
RULES = (rules.lists_end, *SLOT_RULES, *INSTRUCTION_RULES, *DERIVATIVE_RULES, *COUNT_RULES)

_legal_forms: set[Hashable] = set()
_MAX_FORMS = 100_000


_TAPE = "illegal tape"
# Digests of what the rules look at, of tapes that were found legal: a program makes the same tape over and over.
_legal: set[bytes] = set()
_MAX_TAPES = 500


def check(tape: Tape) -> None:
    """Raise if a tape is not legal.

    Raises
    ------
    IllegalTapeError
        Naming the entry, what is wrong with it, and the rule, a function of `engine.inspection.verify`.
    """
    fields = copied(tape)
    t = read_fields(tape, fields)
    state = blake2b(without_addresses(fields).data, digest_size=16)
    state.update(repr((t.inputs, t.outputs)).encode())
    content = state.digest()
    if content in _legal:
        return
    t = t.in_objects
    broken = rules.lists_end(t)
    if broken:
        raise _refusal(_TAPE, f"{len(t.instructions)} instructions", broken, rules.lists_end)
    _check_entries(t, _TAPE)
    _apply(COUNT_RULES, t, sorted(t.slots_on), "buffer", _TAPE)
    if len(_legal) > _MAX_TAPES:
        _legal.clear()
    _legal.add(content)


def check_pass(name: str, before: TapeView, after: TapeView) -> None:
    """Raise if what a pass has made of a recorded tape is not legal, or not the same function any more.

    Raises
    ------
    IllegalTapeError
        Naming the pass, the entry, what is wrong with it, and the rule.
    """
    if after is before:
        return
    what = f"the pass {name} returned an illegal tape"
    if not isinstance(after, TapeView):
        raise IllegalTapeError(f"the pass {name} returned {type(after).__name__}; it must return a TapeView")
    before, after = before.in_objects, after.in_objects
    for rule in pass_rules.PASS_RULES:
        broken = rule(before, after)
        if broken:
            raise _refusal(what, "", broken, rule)
    _check_entries(after, what)
    broken = pass_rules.what_is_read_is_written(before, after)
    if broken:
        raise _refusal(what, "", broken, pass_rules.what_is_read_is_written)


def check_if_enabled(tape: Tape) -> None:
    """`check`, if checks are switched on: by ``TAPEGRAD_CHECK=1`` in the environment, or ``switch.on = True``."""
    if switch.on:
        check(tape)


def check_entries(t: TapeView) -> None:
    """Raise if slots, instructions or derivatives of a tape that was made, not recorded, are not legal.

    Raises
    ------
    IllegalTapeError
        As `check`, of which it leaves out what the engine keeps account of.
    """
    _check_entries(t.in_objects, _TAPE)


def _check_entries(t: TapeView, what: str) -> None:
    """Hold slots, instructions and derivatives against the rules for tapes and for what passes return."""
    _apply(SLOT_RULES, t, list(t.slots), "slot", what)
    _apply(PLACE_RULES[:1], t, range(len(t.instructions)), "instruction", what)
    _apply(PLACE_RULES[1:], t, t.live, "instruction", what)
    _check_forms(t, what)
    _apply(ORIGIN_RULES, t, t.live, "instruction", what)
    _apply(DERIVATIVE_RULES, t, sorted(t.slots_on), "buffer", what)


def _check_forms(t: TapeView, what: str) -> None:
    """Hold instructions against the rules for their forms, each form once: most programs repeat a few."""
    forms = {i: _form(t, i) for i in t.live}
    unknown = {form: i for i, form in forms.items() if form not in _legal_forms}
    _apply(FORM_RULES, t, sorted(unknown.values()), "instruction", what)
    if len(_legal_forms) > _MAX_FORMS:
        _legal_forms.clear()
    _legal_forms.update(unknown)


def _form(t: TapeView, i: int) -> Hashable:
    """Describe the op of an instruction, its parameters, and the form of operands and result."""
    instruction, slots = t.instructions[i], t.slots
    looks = [(slots[s].dtype, slots[s].view) for s in (*instruction.operands, instruction.result)]
    return instruction.op, instruction.address != 0, instruction.params, *looks


def _apply(applied: Iterable[Rule], t: TapeView, entries: Sequence[int], kind: str, what: str) -> None:
    """Hold each entry against each rule."""
    for rule in applied:
        for k in entries:
            broken = rule(t, k)
            if broken:
                raise _refusal(what, _named(t, kind, k), broken, rule)


def _refusal(what: str, entry: str, broken: str, rule: Callable[..., str]) -> IllegalTapeError:
    said = ": ".join(part for part in (what, entry, broken) if part)
    return IllegalTapeError(f"{said} (rule {rule.__name__})")


def _named(t: TapeView, kind: str, k: int) -> str:
    """Name an entry in an error: an instruction is printed, with slots s0, s1, ..."""
    if kind != "instruction":
        return f"{kind} {k}"
    instruction = t.instructions[k]
    known = 0 <= instruction.op < len(CODES)
    name = kernel_table.op_name(instruction.op) if known else f"op {instruction.op}"
    return (
        f"instruction {k}, s{instruction.result} = {name}({', '.join(f's{s}' for s in instruction.operands)})"
    )

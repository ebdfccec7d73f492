"""Wrong parts of a program: the first instruction whose derivative is wrong, and which settings are right."""

from dataclasses import replace

from tapegrad.program.certificates.checks import CertifiedProgram, checks_of
from tapegrad.program.certificates.executions import StoppedError
from tapegrad.program.certificates.products import PlainPrograms, float_results
from tapegrad.program.programs.kinds import make_program
from tapegrad.program.streams.spec import NEVER, VJP, ProgramSpec

_MAX_TRIED = 200  # instructions; of more, some at equal distances, then those between


def first_wrong(subject: CertifiedProgram) -> int:
    """Return the number of the first instruction whose result has a wrong pullback; -1 if none has, by itself."""
    tape = subject.program.tape
    able = float_results(tape)
    step = -(-len(able) // _MAX_TRIED) or 1
    coarse = able[::step]
    found = next((k for k, i in enumerate(coarse) if _is_wrong(subject, i)), None)
    if found is None:
        return -1
    between = able[max(0, found - 1) * step + 1 : found * step + 1] or [coarse[found]]
    return next((i for i in between if _is_wrong(subject, i)), coarse[found])


def _is_wrong(subject: CertifiedProgram, i: int) -> bool:
    """Return whether the pullback of the results up to an instruction is wrong."""
    program = subject.program
    tape = replace(program.tape, outputs=(program.tape.instructions[i].result,))
    spec = ProgramSpec(VJP, program.spec.wrt)
    try:
        pullback = make_program(program.recording, tape, spec, NEVER)
        plain = PlainPrograms(program.recording, program.spec.wrt, tape)
        return not all(check.holds for check in checks_of(CertifiedProgram(pullback, plain, subject.inputs)))
    except StoppedError:
        return False


def right_settings(subject: CertifiedProgram, unrolled: CertifiedProgram | None) -> str:
    """Return the arguments of `jit` by which the program is right; empty if none is known."""
    program = subject.program
    rows = make_program(program.recording, program.tape, program.spec, NEVER)
    if program.fused and _is_right(replace(subject, program=rows)):
        return "fuse=False"
    return "roll=False, fuse=False" if unrolled is not None and _is_right(unrolled) else ""


def _is_right(subject: CertifiedProgram) -> bool:
    return all(check.holds for check in checks_of(subject))

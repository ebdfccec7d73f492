"""The class of each kind of program: a new kind is a class of its own, and an entry here."""

from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.program.programs.compressed_columns import CompressedJacobianProgram
from tapegrad.program.programs.gradient import GradientProgram, ReverseJacobianProgram
from tapegrad.program.programs.jacobian_columns import ColumnsProgram, ForwardJacobianProgram
from tapegrad.program.programs.program import Program, Recording
from tapegrad.program.programs.pullback import PullbackProgram, WholePullbackProgram
from tapegrad.program.programs.tangents import TangentProgram
from tapegrad.program.streams.spec import (
    COLUMNS,
    FORWARD,
    JACFWD,
    JACREV,
    JVP,
    NEVER,
    VALUE_AND_GRAD,
    VJP,
    WHOLE_VJP,
    ProgramSpec,
)

PROGRAMS: dict[str, type[Program]] = {
    FORWARD: Program,
    VALUE_AND_GRAD: GradientProgram,
    JACREV: ReverseJacobianProgram,
    JVP: TangentProgram,
    JACFWD: ForwardJacobianProgram,
    VJP: PullbackProgram,
    WHOLE_VJP: WholePullbackProgram,
    COLUMNS: ColumnsProgram,
}


def make_program(recording: Recording, tape: TapeView, spec: ProgramSpec, fusion: str = NEVER) -> Program:
    """Make the program of a recording for a spec."""
    made = PROGRAMS[spec.kind] if spec.shared is None else CompressedJacobianProgram
    return made(recording, tape, spec, fusion)

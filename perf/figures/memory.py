"""Memory of the tape, and that long loops and long chains hold."""

from tempfile import TemporaryDirectory

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.processes import run

MB = 1e6


def tape_bytes(settings: Settings) -> Outcome:
    """Resident memory of a recorded chain of scalar instructions, less the primals that it keeps."""
    targets, notes = [], []
    for kind in ("scale", "sine"):
        found, _ = run("tape_bytes", kind, settings.fewer(1_000_000, 200_000))
        per_instruction = found["bytes"] / found["instructions"]
        what = f"{found['expression']}, {found['kept']} bytes of element data taken off"
        targets.append(Target(what, per_instruction - found["kept"], 120, "bytes"))
        notes.append(
            f"{found['expression']}: recorded at {found['seconds_each'] * 1e6:.2f} us an instruction"
        )
    return Outcome(targets, notes=notes)


def growth(settings: Settings) -> Outcome:
    """Measure how much resident memory grows in a long loop, after its first passes."""
    targets, notes = [], []
    for kind, passes in (
        ("forward", settings.fewer(1_000_000, 50_000)),
        ("interleaved", settings.fewer(100_000, 5_000)),
    ):
        found, seconds = run("growth", kind, passes)
        targets.append(Target(f"{passes:,} passes, {found['what']}", found["bytes"] / MB, 20, "MB"))
        notes.append(f"{found['what']}: {seconds:.1f} s")
    return Outcome(targets, notes=notes)


def long_chain(settings: Settings) -> Outcome:
    """Measure a chain far deeper than Python's stack, recorded and swept back; its gradient is known."""
    targets, notes = [], []
    length = settings.fewer(1_000_000, 100_000)
    for kind in ("eager", "replay"):
        found, _ = run("long_chain", kind, length)
        targets.append(
            Target(f"relative error of the gradient, {length:,}, {kind}", found["error"], 1e-9, "")
        )
        notes.append(f"{kind}: {found['forward']:.2f} s forward, {found['reverse']:.2f} s {found['then']}")
    return Outcome(targets, notes=notes)


def long_programs(settings: Settings) -> Outcome:
    """Memory of an instruction of a long program, its time in a replay, and what fusing the program adds to recording.

    The cache folder is a new one, so that no recipe is known.
    """
    targets, notes = [], []
    for count, most in ((10_000, 0.4), (settings.fewer(530_000, 100_000), 5)):
        with TemporaryDirectory() as folder:
            found, _ = run("long_program", count, TAPEGRAD_CACHE_DIR=folder)
        sample = f"{count:,} instructions"
        added = found["fused"] - found["unfused"]
        targets += [
            Target(f"{sample}: bytes each, value and gradient", found["bytes"], 450, "bytes"),
            Target(f"{sample}: added by fuse=True", added, most, "s"),
            Target(f"{sample}: relative error of the gradient", found["error"], 1e-9, ""),
        ]
        notes.append(
            f"{sample}: first call {found['unfused']:.2f} s, fused {found['fused']:.2f} s,"
            f" replay {found['seconds_each'] * 1e9:.1f} ns each"
        )
    found, _ = run("long_program", 100_000)
    targets.append(Target("100,000 instructions: replayed, each", found["seconds_each"] * 1e9, 14, "ns"))
    return Outcome(targets, notes=notes)


MEMORY = (
    Figure("tape-bytes", "Bytes of tape per scalar instruction, without the element data", tape_bytes),
    Figure("growth", "Growth of resident memory", growth),
    Figure("long-programs", "Programs of 10,000 and 530,000 scalar instructions", long_programs),
    Figure("long-chain", "A chain of 1,000,000 instructions in both directions", long_chain),
)

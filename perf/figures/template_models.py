"""Template Model Builder's own examples, beside TMB itself."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable
from perf.processes import run
from perf.quantities import quantity
from perf.template_models.by_r import check_installed, compiled, measured

EXAMPLES = (
    "linreg", "longlinreg", "nmix", "orange_big", "socatt", "thetalog", "sde_linear", "mvrw_sparse", "spatial",
)  # fmt: skip
MIXED, SHIPPED = ("sleepstudy", "cbpp"), ("thetalog", "sleepstudy", "cbpp")
_HOW = "git clone https://github.com/kaskr/adcomp"
_HEAD = (
    "example", "parameters + effects", "TMB: compile", "evaluation", "fit", "sdreport", "here: first fit",
    "evaluation", "fit", "standard errors", "TMB's time of an evaluation", "of a fit", "with the compile",
    "estimates off", "standard errors off",
)  # fmt: skip
Row = dict[str, Any]


def _measure(settings: Settings) -> Outcome:
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    clone = settings.beside("adcomp", _HOW)
    if settings.quick or clone is None:
        rows = [_ours(name) for name in SHIPPED]
        return Outcome(_differences(rows), table=[_HEAD, *map(_line, rows)], notes=["results of TMB as kept"])
    versions = check_installed()
    library = clone.parent / "adcomp-compiled"
    sources = {name: clone / "tmb_examples" / f"{name}.cpp" for name in EXAMPLES}
    spent = {}
    for name, source in sources.items():
        _say(f"compiling {name}")
        spent[name] = compiled(source, library)
    with tempfile.TemporaryDirectory() as place:
        rows = []
        for name in (*EXAMPLES, *MIXED):
            _say(name)
            cpp = sources.get(name)
            given = cpp.with_suffix(".R") if cpp else name
            out = measured(given, library if cpp else Path(place), Path(place) / name)
            rows.append(_ours(name, out) | _theirs(out) | {"compile": spent.get(name)})
        _say("thetalog from an empty cache")
        empty = run("template_model", "thetalog", TAPEGRAD_CACHE_DIR=str(Path(place) / "cache"))[0]["first"]
    targets, notes = _differences(rows) + _ratios(rows), _notes(rows, versions, empty)
    return Outcome(targets, table=[_HEAD, *map(_line, rows)], notes=notes)


def _say(words: str) -> None:
    print(f"    {words}", file=sys.stderr, flush=True)


def _ours(name: str, *folder: Path) -> Row:
    """Check and time an example in a process whose kernels are cached, as those of a second run are."""
    for _ in range(1 + bool(folder)):
        found = run("template_model", name, *folder, OPENBLAS_NUM_THREADS="1")[0]
    return {"name": name, **found}


def _theirs(folder: Path) -> Row:
    numbers = json.loads((folder / "results.json").read_text())["numbers"]
    return {f"r_{key}": numbers[key][0] for key in ("make", "first", "fit", "evaluation", "report", "shift")}


def _ratio(row: Row, what: str) -> float:
    return float(row[what] / row[f"r_{what}"])


def _whole(row: Row) -> float | None:
    """Return the share of TMB's time from its C++ to the first estimates; `None` without a compile of its own."""
    theirs = row["r_make"] + row["r_first"]
    return float(row["first"] / (row["compile"] + theirs)) if row["compile"] else None


def _differences(rows: list[Row]) -> list[Target]:
    limits = {
        "value_off": ("objective values", 1e-8), "shift": ("estimates, in standard errors", 1e-5),
        "wider": ("standard errors", 1e-5),
    }  # fmt: skip
    return [
        Target(f"largest difference of {what}", max(row[key] for row in rows), limit, "")
        for key, (what, limit) in limits.items()
    ]


def _ratios(rows: list[Row]) -> list[Target]:
    found = []
    for key, what in (("evaluation", "an evaluation with its gradient"), ("fit", "a fit")):
        ratios = [_ratio(row, key) for row in rows]
        mean = float(np.exp(np.mean(np.log(ratios))))
        found.append(Target(f"{what}: times TMB's, worst", max(ratios), 1.0, "x"))
        found.append(Target(f"{what}: times TMB's, geometric mean", mean, 1.0, "x"))
    whole = max(each for each in map(_whole, rows) if each is not None)
    return [*found, Target("from the model to its fit, TMB's compile included, worst", whole, 1 / 20, "x")]


def _line(row: Row) -> tuple[str, ...]:
    """Return a row of the table; columns of TMB are empty where it did not run."""

    def cells(*keys: str) -> list[str]:
        return ["" if row.get(key) is None else quantity(row[key], "s") for key in keys]

    ratios = (_ratio(row, "evaluation"), _ratio(row, "fit"), _whole(row)) if "r_fit" in row else (None,) * 3
    return (
        row["name"], f"{row['parameters']:.0f} + {row['effects']:.0f}",
        *cells("compile", "r_evaluation", "r_fit", "r_report", "first", "evaluation", "fit", "report"),
        *("" if each is None else f"{each:.2g}" for each in ratios), f"{row['shift']:.0e}", f"{row['wider']:.0e}",
    )  # fmt: skip


def _notes(rows: list[Row], versions: str, empty: float) -> list[str]:
    return [
        f"{versions}; CPU seconds of one thread, a compile with those of the compiler",
        f"TMB's estimates as its driver leaves them are off by up to {max(row['r_shift'] for row in rows):.0e}"
        " standard errors: both are compared with those after further steps of Newton's method",
        f"first fits are with compiled kernels on disk; thetalog's takes {empty:.3g} s with none",
    ]


TEMPLATE_MODELS = (Figure("tmb", "Template Model Builder's examples beside TMB", _measure),)

"""Template Model Builder's own examples, beside TMB itself."""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable
from perf.processes import run
from perf.template_models.by_r import check_installed, compiled, measured

EXAMPLES = (
    "linreg", "longlinreg", "nmix", "orange_big", "socatt", "thetalog", "sde_linear", "mvrw_sparse", "spatial",
    "spde",
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
    for name, source in sources.items():
        _say(f"compiling {name}")
        compiled(source, library)
    with tempfile.TemporaryDirectory() as place:
        rows = []
        for name in (*EXAMPLES, *MIXED):
            _say(name)
            cpp = sources.get(name)
            given = cpp.with_suffix(".R") if cpp else name
            out = measured(given, library if cpp else Path(place), Path(place) / name)
            spent = compiled(cpp, library)[0] if cpp else None
            rows.append(_ours(name, out) | _theirs(out) | {"compile": spent})
        _say("thetalog from an empty cache")
        empty = run("template_model", "thetalog", XDG_CACHE_HOME=str(Path(place) / "cache"))[0]["first"]
    return Outcome(
        _differences(rows) + _ratios(rows),
        table=[_HEAD, *map(_line, rows)],
        notes=_notes(rows, versions, empty),
    )


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


def _of_evaluation(row: Row) -> float:
    return float(row["evaluation"] / row["r_evaluation"])


def _of_fit(row: Row) -> float:
    return float(row["fit"] / row["r_fit"])


def _whole(row: Row) -> float | None:
    """Return the share of TMB's time from its C++ to the first estimates; `None` without a compile of its own."""
    theirs = row["r_make"] + row["r_first"]
    return float(row["first"] / (row["compile"] + theirs)) if row["compile"] else None


def _differences(rows: list[Row]) -> list[Target]:
    return [
        Target("largest difference of objective values", max(row["value_off"] for row in rows), 1e-8, ""),
        Target(
            "largest difference of estimates, in standard errors", max(row["shift"] for row in rows), 1e-5, ""
        ),
        Target("largest difference of standard errors", max(row["wider"] for row in rows), 1e-5, ""),
    ]


def _ratios(rows: list[Row]) -> list[Target]:
    found = []
    for what, ratio in (("an evaluation with its gradient", _of_evaluation), ("a fit", _of_fit)):
        ratios = [ratio(row) for row in rows]
        mean = float(np.exp(np.mean(np.log(ratios))))
        found += [
            Target(f"{what}: times TMB's, worst", max(ratios), 1.0, "x"),
            Target(f"{what}: times TMB's, geometric mean", mean, 1.0, "x"),
        ]
    whole = [each for each in map(_whole, rows) if each is not None]
    return [
        *found,
        Target("from the model to its fit, TMB's compile included, worst", max(whole), 1 / 20, "x"),
    ]


def _line(row: Row) -> tuple[str, ...]:
    """Return a row of the table; columns of TMB are empty where it did not run."""

    def cell(key: str, form: Callable[[float], str]) -> str:
        return form(row[key]) if row.get(key) is not None else ""

    ratios: tuple[float | None, ...] = (None,) * 3
    if "r_fit" in row:
        ratios = _of_evaluation(row), _of_fit(row), _whole(row)
    return (
        row["name"], f"{row['parameters']:.0f} + {row['effects']:.0f}",
        *(cell(key, _seconds) for key in ("compile", "r_evaluation", "r_fit", "r_report")),
        *(cell(key, _seconds) for key in ("first", "evaluation", "fit", "report")),
        *("" if each is None else f"{each:.2g}" for each in ratios),
        *(cell(key, "{:.0e}".format) for key in ("shift", "wider")),
    )  # fmt: skip


def _seconds(spent: float) -> str:
    return f"{spent:.3g} s" if spent >= 1 else f"{1e3 * spent:.3g} ms"


def _notes(rows: list[Row], versions: str, empty: float) -> list[str]:
    return [
        f"{versions}; CPU seconds of one thread, a compile with those of the compiler",
        f"TMB's estimates as its driver leaves them are off by up to {max(row['r_shift'] for row in rows):.0e}"
        " standard errors: both are compared with those after further steps of Newton's method",
        f"first fits are with compiled kernels on disk; thetalog's takes {empty:.3g} s with none",
    ]


TEMPLATE_MODELS = (Figure("tmb", "Template Model Builder's examples beside TMB", _measure),)

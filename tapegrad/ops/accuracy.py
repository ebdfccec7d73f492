"""How right the functions are that the package computes itself, and not by NumPy's or SciPy's loops."""

_ONE = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
    "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "hypot", "cbrt", "erf", "sigmoid",
    "softplus", "logaddexp",
)  # fmt: skip
# Units in the last place of float64, over the whole range: tests hold every function to them.
PLACES: dict[str, int] = {**dict.fromkeys(_ONE, 1), "power": 2, "erfc": 2}


def sentence(name: str) -> str:
    """What the docstring of a function says of that; nothing where the function is somebody else's."""
    if name not in PLACES:
        return ""
    units = "1 unit" if PLACES[name] == 1 else f"{PLACES[name]} units"
    of = " of the larger operand" if name == "logaddexp" else ""
    return (
        f"Results of float64 are right to {units} in the last place{of}, those of float32 are rounded once."
    )

"""Numbers with their units, as a reader takes them in."""


def quantity(value: float | None, unit: str) -> str:
    """Format a number with its unit, to three digits; seconds are scaled."""
    if value is None:
        return "-"
    if unit == "s":
        for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")):
            if abs(value) >= scale or name == "ns":
                return f"{_digits(value / scale)} {name}"
    return f"{_digits(value)} {unit}".rstrip()


def _digits(value: float) -> str:
    """Three significant digits, without an exponent where a reader needs none."""
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.2g}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"

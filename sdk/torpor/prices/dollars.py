"""US dollars as text."""

SMALLEST_USD = 0.000001


def dollars(usd: float | None) -> str:
    """An amount as text: with cents from a dollar on, and with more decimals the smaller it is; `unknown` for None."""
    if usd is None:
        return "unknown"
    if 0 < usd < SMALLEST_USD:
        return f"<${SMALLEST_USD:.6f}"
    return f"${usd:,.{2 if usd >= 1 or not usd else 4 if usd >= 0.01 else 6}f}"

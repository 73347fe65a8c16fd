"""A bill as a table: a line for each item, in every command that shows one."""

from collections.abc import Iterator, Sequence
from math import isclose

from rich.table import Table

from torpor.cli.console import plain_table
from torpor.prices.dollars import dollars
from torpor_endpoint.core.pricing.bills import Bill, BillLine
from torpor_endpoint.core.pricing.savings_plans import PlannedCost


def bill_table(title: str, lines: Sequence[BillLine], cost: str = "cost") -> Table:
    """The lines with quantity, unit, rate and cost, and their sum, beside which items without a price are named."""
    shown = plain_table(title, "item")
    for name in ("quantity", "unit", "rate", cost):
        shown.add_column(name, justify="left" if name == "unit" else "right", no_wrap=True)
    for line in lines:
        shown.add_row(line.item, quantity(line.quantity), line.unit, rate(line.rate_usd), dollars(line.usd))
    found = Bill(tuple(lines))
    if len(lines) > 1:
        shown.add_section()
        shown.add_row("all", "", "", "", dollars(found.usd), style="bold")
    return shown


def savings_lines(found: Sequence[tuple[PlannedCost, float]]) -> Iterator[str]:
    """A line for each savings plan that is cheaper: its bill, and the commitment."""
    for one, usd in found:
        yield f"under a savings plan ({one.plan}), {rate(one.commitment_usd)} an hour: {dollars(usd)} a month"


def beside(unpriced: Sequence[str]) -> str:
    """` and volumes of instances (no price is known)`, to stand beside a sum that lacks them."""
    return f" and {', '.join(unpriced)} (no price is known)" if unpriced else ""


def quantity(amount: float) -> str:
    """With thousands separated, and at least three digits of a small amount."""
    if isclose(amount, round(amount), rel_tol=1e-9):
        return f"{amount:,.0f}"
    return f"{amount:,.3f}" if amount >= 0.1 else f"{amount:.3g}"


def rate(usd: float | None) -> str:
    """A rate with all its digits; `unknown` for None."""
    if usd is None:
        return "unknown"
    text = f"{usd:.10f}".rstrip("0")
    whole, _, part = text.partition(".")
    return f"${int(whole):,}.{part.ljust(2, '0')}"

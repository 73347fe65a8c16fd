"""`torpor drift`: compares captured requests with a baseline, for each target model, and writes AWS's three files."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from torpor.cli.asked_endpoint import Url, connected
from torpor.cli.console import console, plain_table
from torpor.drift.captured_rows import SCHEME, CapturedRows, CapturedSide
from torpor.drift.drift_reports import ONLY, DriftReport, ModelRows, read_baseline
from torpor.errors import TorporError
from torpor_endpoint.core.pages.plain_figures import counted

SHOWN = 8


def drift(
    captured: Annotated[
        str, typer.Argument(help="Captured records: s3://bucket/prefix, or a folder.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="The folder for the files, one folder below it for each model.")],
    baseline: Annotated[
        Path | None,
        typer.Option(help="A CSV with a header, for all models; or an earlier --out. Without it, one is made."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            help="Only records since then. What came before is the baseline, unless --baseline says otherwise."
        ),
    ] = None,
    until: Annotated[str | None, typer.Option(help="Only records before then, such as 2026-11-29T12:00:00Z.")] = None,
    model: Annotated[list[str] | None, typer.Option(help="Only this model; give it once for each.")] = None,
    side: Annotated[CapturedSide, typer.Option(help="Whose columns: the request's, the answer's, or both.")] = (
        CapturedSide.INPUT
    ),
    url: Url = None,
) -> None:
    """Tell which columns have drifted from a baseline, for each target model, and write AWS's three files."""
    began_s, ended_s = _moment(since, "--since"), _moment(until, "--until")
    connection = connected(url) if captured.startswith(SCHEME) else None
    reading = CapturedRows(side)
    asked = None if model is None else {one.removeprefix("/") for one in model}
    seen = ModelRows(None if baseline is None else read_baseline(baseline), began_s, ended_s)
    seen.add(one for one in reading.of(captured, connection) if asked is None or one.model in asked)
    made = seen.reports()
    if not made:
        of_time = "" if began_s is ended_s is None else " of this time"
        raise TorporError(f"{captured} has no captured rows{of_time}")
    for one in made:
        one.write(out)
    console().print(table(made))
    for name, count in sorted(reading.skipped.items()):
        records = counted(count, "record")
        typer.echo(f"{name or ONLY}: {records} without rows of CSV or JSON left out", err=True)


def table(made: list[DriftReport]) -> Table:
    """A row for each model."""
    shown = plain_table("", "model", "rows", "violations")
    for one in made:
        told = (
            ["no baseline: these are one"]
            if one.violations is None
            else [f"{each.feature_name}: {each.constraint_check_type}: {each.description}" for each in one.violations]
        )
        more = [f"and {len(told) - SHOWN} more"] if len(told) > SHOWN else []
        shown.add_row(one.model or ONLY, f"{one.rows:,}", "\n".join([*told[:SHOWN], *more]) or "none")
    return shown


def _moment(text: str | None, option: str) -> float | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no time such as 2026-11-29T12:00:00Z", param_hint=option) from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()

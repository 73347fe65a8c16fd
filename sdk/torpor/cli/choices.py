"""The options of the commands that simulate: what one may choose, and in which words."""

from collections.abc import Collection, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from torpor.cli.edge import present
from torpor.cli.since import span_s
from torpor.errors import TorporError
from torpor.extras import require

if TYPE_CHECKING:
    from torpor_endpoint.core.pricing.prices import Prices

NEVER = "never"
PICTURES = (".png", ".svg", ".pdf")

TRACE = (
    "A .csv, .csv.gz, .txt or .parquet with times and models, or of Azure Functions; a"
    " ledger.sqlite (ledger.sqlite#endpoint/variant of one that has"
    " several); or a made one: zipf:models=500,rate_hz=20."
)
PROFILES = "What each model takes: a CSV with model, memory_bytes, load_s and so on, or an endpoint's ledger.sqlite."
SLEEP = "Scale to zero after so long without a request, as 5m,1h; 'never' does not."
LEAVING = "Who leaves memory first: one or more, as LRU,GDSF,BELADY. GDSF is FaasCache's greedy-dual keep-alive."
LASTS = "For how long the trace was recorded, quiet included, as 24h or 7d; else until its last request."
WAKE = "How long an instance takes to wake, as 0.5s or 5m; else as a ledger has it, or 0.1 s as Torpor does."
PLOT = "Draw dollars against p99 into this .png, .svg or .pdf."
TYPE = "One or more, as ml.m5.large,ml.r5.large; else the ledger's, or ml.m5.large."
MEMORY = "Of each instance, as TORPOR_MEMORY_MIB and MemorySizeInMB; else the ledger's, or its type's."
OWN = "What an instance takes of it beside its models; else as a ledger has it, or 20."
TYPES = "Choose of these, as ml.m5.large,ml.r5.large; else of all with a price and no GPU."

Trace = Annotated[str, typer.Argument(help=TRACE)]
Profiles = Annotated[Path | None, typer.Option(help=PROFILES, metavar="FILE")]
PricesFile = Annotated[Path | None, typer.Option(help="AWS's price list of another region or day.", metavar="FILE")]
Region = Annotated[str | None, typer.Option(help="Of --prices, where that has several, as eu-west-1.")]
Seed = Annotated[int, typer.Option(help="Of all that is drawn: the same seed tells the same story.")]
Lasts = Annotated[str | None, typer.Option(help=LASTS)]
Wake = Annotated[str | None, typer.Option(help=WAKE)]
SleepAfter = Annotated[str, typer.Option(help=SLEEP)]
KeepAlives = Annotated[str | None, typer.Option(help="Choose of these keep-alives, as fixed,histogram.")]
Instances = Annotated[str, typer.Option(help="How many: one or more numbers, as 1,2,4.")]
InstanceType = Annotated[str | None, typer.Option(help=TYPE)]
InstanceTypes = Annotated[str | None, typer.Option(help=TYPES)]
Policy = Annotated[str, typer.Option(help=LEAVING)]
Policies = Annotated[str | None, typer.Option(help="Choose of these policies, as LRU,GDSF.")]
MemoryMib = Annotated[float | None, typer.Option(help=MEMORY)]
OwnMib = Annotated[float | None, typer.Option(help=OWN)]
SloMs = Annotated[float | None, typer.Option(help="Show how many requests take longer.")]
Check = Annotated[bool, typer.Option("--check", help="Recount each simulation from its log.")]
Decisions = Annotated[Path | None, typer.Option(help="Keep every decision, as CSV.", metavar="FILE")]
Out = Annotated[Path | None, typer.Option(help="Keep the table, as CSV.", metavar="FILE")]
Plot = Annotated[Path | None, typer.Option(help=PLOT, metavar="FILE")]


def several(option: str, text: str) -> list[str]:
    """What commas part, each once. Raises TorporError for nothing."""
    found = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not found:
        raise TorporError(f"{option} has at least one, and commas between several")
    return found


def nap_s(text: str) -> float:
    """A keep-alive. Raises TorporError."""
    return _span_s("--sleep-after", text)


def lasts_s(text: str | None) -> float | None:
    """Of a trace. Raises TorporError."""
    return None if text is None else _span_s("--lasts", text)


def naps_s(text: str) -> Sequence[float]:
    """Keep-alives; none for 'never'. Raises TorporError."""
    return [nap_s(part) for part in several("--sleep-after", text) if part != NEVER]


def woken(wake: str | None) -> Mapping[str, float]:
    """What it alters of a scenario. Raises TorporError."""
    return {} if wake is None else {"wake_s": _span_s("--wake", wake)}


def sized(instance_type: str | None, memory_mib: float | None) -> Mapping[str, str | float]:
    """What they alter of a scenario. Raises TorporError."""
    if memory_mib is not None:
        more_than_0("--memory-mib", memory_mib)
    asked = {"instance_type": instance_type, "memory_mib": memory_mib}
    return {name: value for name, value in asked.items() if value is not None}


def owned(own_mib: float | None) -> Mapping[str, int]:
    """What it alters of a scenario. Raises TorporError."""
    if own_mib is not None and not 0 <= own_mib < inf:
        raise TorporError(f"--own-mib is a number of 0 or more, not {own_mib:g}")
    return {} if own_mib is None else {"own_bytes": int(own_mib * 1024 * 1024)}


def _span_s(option: str, text: str) -> float:
    try:
        seconds = span_s(text)
    except typer.BadParameter as error:
        raise TorporError(f"{option}: {error.message}") from error
    if not 0 < seconds < inf:
        raise TorporError(f"{option}: a span of time is more than 0, not {text}")
    return seconds


def slo_s(slo_ms: float) -> float:
    """Raises TorporError."""
    if not 0 < slo_ms < inf:
        raise TorporError(f"--slo-ms is a number of milliseconds, more than 0, not {slo_ms:g}")
    return slo_ms / 1000


def more_than_0(option: str, value: float) -> None:
    """Raises TorporError."""
    if not 0 < value < inf:
        raise TorporError(f"{option} is more than 0, not {value:g}")


def chosen(option: str, text: str, known: Collection[str]) -> list[str]:
    """As `several`, of what is known, in capitals or not where that is. Raises TorporError."""
    found = several(option, text)
    for one in found:
        if one not in known and one.upper() not in known:
            raise TorporError(f"{option} is one of {', '.join(known)}, not {one!r}")
    return found


def share(option: str, value: float) -> float:
    """Raises TorporError."""
    if not 0 < value < 1:
        raise TorporError(f"{option} is above 0 and below 1, as 0.99, not {value:g}")
    return value


def kept(option: str, file: Path | None) -> None:
    """Raises TorporError where it could not be written, before anything is simulated for it."""
    if file is not None and not file.absolute().parent.is_dir():
        raise TorporError(f"{option} {file}: there is no folder {file.parent}")
    if file is not None and file.is_dir():
        raise TorporError(f"{option} {file}: that is a folder, name a file in it")


def drawn(file: Path | None) -> None:
    """As `kept`, of a picture. Raises MissingExtra too."""
    kept("--plot", file)
    if file is not None and file.suffix.lower() not in PICTURES:
        raise TorporError(f"--plot {file}: a picture is a file that ends in {', '.join(PICTURES)}")
    if file is not None:
        require("--plot", "plots")


def profiled(file: Path | None) -> Path | None:
    """Raises TorporError."""
    if file is None:
        return None
    from torpor.simulator.fitting.sources import ACCEPTED, divided

    path, _ = divided(file)
    if not path.exists():
        raise TorporError(f"--profiles {path}: there is no such file. {ACCEPTED}")
    return file


def priced_by(file: Path | None, region: str | None) -> "Prices":
    """The list that ships, or a file of AWS's. Raises TorporError, PriceFileRefused, OSError."""
    from torpor.prices import SHIPPED, read

    if file is None and region is not None:
        raise TorporError(f"--region {region}: its prices are not known without a file of them: give it by --prices")
    if file is not None:
        present("--prices", file)
    return (SHIPPED if file is None else read(file, region)).prices

"""The options of the commands that simulate: their help texts, and the checks of their values."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from torpor.cli.arguments import existing_file, span_s
from torpor.cli.exit_codes import UsageRefused
from torpor.errors import TorporError
from torpor.extras import require

if TYPE_CHECKING:
    from torpor.simulator.simulation_inputs import SimulationInputs
    from torpor_endpoint.core.pricing.prices import Prices

NEVER = "never"
PICTURES = (".png", ".svg", ".pdf")

TRACE = (
    "A .csv, .csv.gz, .txt or .parquet with times and models, or of Azure Functions; a"
    " ledger.sqlite (ledger.sqlite#endpoint/variant of one that has"
    " several); or a synthetic one: zipf:models=500,rate_hz=20."
)
PROFILES = (
    "Sizes and times of the models: a CSV with model, memory_bytes, load_s and so on, or an endpoint's ledger.sqlite."
)
SLEEP = "Scale to zero after this time without a request, as 5m,1h; 'never' does not."
SLEEP_OR_OWN = f"{SLEEP} Else as the ledger's variant does, or never."
POLICY = (
    "Eviction policies: one or more, as LRU,GDSF,BELADY; else the ledger's, or LRU. GDSF is FaasCache's greedy-dual"
    " keep-alive."
)
SERVERLESS = "A serverless multi-model endpoint, which AWS does not have: one or more memory sizes in MB, as 1024,2048."
MOST = "MaxConcurrency of --serverless; else the ledger's, or 200, AWS's largest."
KEPT = "ProvisionedConcurrency of --serverless, which stays awake."
STRICT = "Leave out what AWS does not have: multi-model endpoints that sleep, are serverless or asynchronous."
LASTS = "How long the trace was recorded, with its quiet times, as 24h or 7d; else until its last request."
WAKE = "How long an instance takes to wake, as 0.5s or 5m; else the ledger's time, or Torpor's 0.1 s."
PLOT = "Draw dollars against p99 into this .png, .svg or .pdf."
TYPE = "One or more, as ml.m5.large,ml.r5.large; else the ledger's, or ml.m5.large."
MEMORY = "Memory of each instance, as TORPOR_MEMORY_MIB and MemorySizeInMB; else the ledger's, or its type's."
OWN = "Memory that an instance takes beside its models; else the ledger's, or 20."
CONTAINERS = (
    "The containers of a pipeline, in their order: a CSV with container, memory_bytes, predict_s and so on; the row of"
    " the one with the models has models true. Else the ledger's, or one container."
)
SHADOW = (
    "A shadow variant beside it, as weight=0.5,instance_type=ml.c5.large,profiles=new.csv: its weight, beside the"
    " other's 1; fields of torpor.Scenario; a file with the sizes and times of its models; and containers=FILE."
)
COMPONENTS = (
    "Inference components beside it, one for each model, as copies=1,cores=0.5,instance_type=ml.m5.xlarge; file=FILE"
    " has a row for each. Of a ledger of components: what to change of them."
)
PRICES = "A price list of AWS, of another region or day; else the list that `torpor prices` shows."
TYPES = "Choose from these types, as ml.m5.large,ml.r5.large; else from all with a price and no GPU."
DEVICE = (
    "The memory of each instance's device in MiB, as TORPOR_DEVICE_MEMORY_MIB: profiles say which models predict on it."
)
GROUP = (
    "A group of models, as the file NAME.group.json. A request of the trace names the group and its need, as"
    " 'NAME?min_accuracy=0.9, latency_ms=20'."
)

Trace = Annotated[str, typer.Argument(help=TRACE)]
Profiles = Annotated[Path | None, typer.Option(help=PROFILES, metavar="FILE")]
PricesFile = Annotated[Path | None, typer.Option(help=PRICES, metavar="FILE")]
Region = Annotated[str | None, typer.Option(help="The region, as eu-west-1, if --prices has several.")]
Seed = Annotated[int, typer.Option(help="The seed of everything drawn: the same seed gives the same result.")]
Lasts = Annotated[str | None, typer.Option(help=LASTS)]
Wake = Annotated[str | None, typer.Option(help=WAKE)]
SleepAfter = Annotated[str, typer.Option(help=SLEEP)]
SleepOrOwn = Annotated[str | None, typer.Option("--sleep-after", help=SLEEP_OR_OWN)]
Serverless = Annotated[str | None, typer.Option(help=SERVERLESS)]
MaxConcurrency = Annotated[int | None, typer.Option(help=MOST, min=1)]
Provisioned = Annotated[int, typer.Option("--provisioned-concurrency", help=KEPT, min=0)]
AwsStrict = Annotated[bool, typer.Option("--aws-strict", help=STRICT)]
KeepAlives = Annotated[str | None, typer.Option(help="Choose from these keep-alives, as fixed,histogram.")]
Instances = Annotated[
    str | None, typer.Option(help="How many: one or more numbers, as 1,2,4; else the ledger's, or 1.")
]
InstanceType = Annotated[str | None, typer.Option(help=TYPE)]
InstanceTypes = Annotated[str | None, typer.Option(help=TYPES)]
Policy = Annotated[str | None, typer.Option(help=POLICY)]
Policies = Annotated[str | None, typer.Option(help="Choose from these policies, as LRU,GDSF.")]
MemoryMib = Annotated[float | None, typer.Option(help=MEMORY)]
DeviceMib = Annotated[float | None, typer.Option(help=DEVICE)]
OwnMib = Annotated[float | None, typer.Option(help=OWN)]
Containers = Annotated[Path | None, typer.Option(help=CONTAINERS, metavar="FILE")]
Shadow = Annotated[str | None, typer.Option(help=SHADOW)]
Group = Annotated[Path | None, typer.Option(help=GROUP, metavar="FILE")]
Components = Annotated[str | None, typer.Option(help=COMPONENTS)]
SloMs = Annotated[float | None, typer.Option(help="Show the share of requests that take longer.")]
Async = Annotated[bool, typer.Option("--async", help="Let requests wait in the queue of an asynchronous endpoint.")]
Check = Annotated[bool, typer.Option("--check", help="Check the counters of each simulation against its log.")]
Decisions = Annotated[Path | None, typer.Option(help="Write every decision to this CSV file.", metavar="FILE")]
Out = Annotated[Path | None, typer.Option(help="Write the table to this CSV file.", metavar="FILE")]
Plot = Annotated[Path | None, typer.Option(help=PLOT, metavar="FILE")]


def several(option: str, text: str) -> list[str]:
    """The parts of a list with commas, each once. Raises UsageRefused for an empty list."""
    found = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not found:
        raise UsageRefused(f"{option} is empty: give one value, or several with commas between them")
    return found


def keep_alive_s(text: str) -> float:
    """A keep-alive time in seconds. Raises UsageRefused."""
    return _span_s("--sleep-after", text)


def lasts_s(text: str | None) -> float | None:
    """How long a trace was recorded, in seconds. Raises UsageRefused."""
    return None if text is None else _span_s("--lasts", text)


def within_s(text: str, option: str = "--within") -> float:
    """The longest time of a confirmation or a search, in seconds. Raises UsageRefused."""
    return _span_s(option, text)


def spans_s(option: str, text: str) -> Sequence[float]:
    """Times in seconds, of a list with commas. Raises UsageRefused."""
    return [_span_s(option, part) for part in several(option, text)]


def keep_alives_s(text: str) -> Sequence[float]:
    """Keep-alive times in seconds, without 'never'. Raises UsageRefused."""
    return [keep_alive_s(part) for part in several("--sleep-after", text) if part != NEVER]


def wake_change(wake: str | None) -> Mapping[str, float]:
    """The scenario field that `--wake` changes. Raises UsageRefused."""
    return {} if wake is None else {"wake_s": _span_s("--wake", wake)}


def size_changes(instance_type: str | None, memory_mib: float | None) -> Mapping[str, str | float]:
    """The scenario fields that `--instance-type` and `--memory-mib` change. Raises UsageRefused."""
    if memory_mib is not None:
        positive("--memory-mib", memory_mib)
    fields = {"instance_type": instance_type, "memory_mib": memory_mib}
    return {name: value for name, value in fields.items() if value is not None}


def memory_changes(own_mib: float | None, device_mib: float | None) -> Mapping[str, float]:
    """The scenario fields that `--own-mib` and `--device-mib` change. Raises UsageRefused."""
    if device_mib is None:
        return own_memory_change(own_mib)
    positive("--device-mib", device_mib)
    return {**own_memory_change(own_mib), "device_mib": device_mib}


def own_memory_change(own_mib: float | None) -> Mapping[str, int]:
    """The scenario field that `--own-mib` changes. Raises UsageRefused."""
    if own_mib is not None and not 0 <= own_mib < inf:
        raise UsageRefused(f"--own-mib is a number of 0 or more, not {own_mib:g}")
    return {} if own_mib is None else {"own_bytes": int(own_mib * 1024 * 1024)}


def async_change(queued: bool) -> Mapping[str, bool]:
    """The scenario field that `--async` changes."""
    return {"asynchronous": True} if queued else {}


def _span_s(option: str, text: str) -> float:
    try:
        seconds = span_s(text)
    except typer.BadParameter as error:
        raise UsageRefused(f"{option}: {error.message}") from error
    if not 0 < seconds < inf:
        raise UsageRefused(f"{option}: a span of time is more than 0, not {text}")
    return seconds


def slo_s(slo_ms: float) -> float:
    """`--slo-ms` in seconds. Raises UsageRefused."""
    if not 0 < slo_ms < inf:
        raise UsageRefused(f"--slo-ms is a number of milliseconds, more than 0, not {slo_ms:g}")
    return slo_ms / 1000


def positive(option: str, value: float) -> None:
    """Raises UsageRefused if the value is not more than 0."""
    if not 0 < value < inf:
        raise UsageRefused(f"{option} is more than 0, not {value:g}")


def known_names(option: str, text: str, known: Collection[str]) -> list[str]:
    """As `several`, for names of `known`, in any case if those are in capitals. Raises UsageRefused."""
    found = several(option, text)
    for one in found:
        if one not in known and one.upper() not in known:
            raise UsageRefused(f"{option} is one of {', '.join(known)}, not {one!r}")
    return found


def share(option: str, value: float) -> float:
    """The value. Raises UsageRefused if it is not between 0 and 1."""
    if not 0 < value < 1:
        raise UsageRefused(f"{option} is above 0 and below 1, as 0.99, not {value:g}")
    return value


def writable_file(option: str, file: Path | None) -> None:
    """Check before a long simulation that its output can be written. Raises UsageRefused."""
    if file is not None and not file.absolute().parent.is_dir():
        raise UsageRefused(f"{option} {file}: there is no folder {file.parent}")
    if file is not None and file.is_dir():
        raise UsageRefused(f"{option} {file}: that is a folder, name a file in it")


def plot_file(file: Path | None) -> None:
    """As `writable_file`, for a plot. Raises UsageRefused, MissingExtra."""
    writable_file("--plot", file)
    if file is not None and file.suffix.lower() not in PICTURES:
        raise UsageRefused(f"--plot {file}: the name of a plot ends in {', '.join(PICTURES)}")
    if file is not None:
        require("--plot", "plots")


def output_files(plot: Path | None, out: Path | None, decisions: Path | None) -> None:
    """Check before a long simulation that its files can be written. Raises UsageRefused, MissingExtra."""
    plot_file(plot)
    writable_file("--out", out)
    writable_file("--decisions", decisions)


def inputs_of(
    trace: str,
    profiles: Path | None,
    seed: int,
    lasts: str | None,
    containers: Path | None,
    changes: Mapping[str, Any],
) -> "SimulationInputs":
    """The inputs of a simulation, whose scenario has these changes. Raises UsageRefused, TorporError, BadTrace."""
    from torpor.simulator.simulation_inputs import load

    found = load(trace, profiles_file(profiles), seed=seed, lasts_s=lasts_s(lasts))
    return replace(found, scenario=found.scenario.altered(**changes, **containers_change(containers)))


def profiles_file(file: Path | None, option: str = "--profiles") -> Path | None:
    """The file of this option. Raises TorporError if it does not exist."""
    if file is None:
        return None
    from torpor.simulator.fitting.profile_sources import ACCEPTED, split_name

    path, _ = split_name(file)
    if not path.exists():
        raise TorporError(f"{option} {path}: there is no such file. {ACCEPTED}")
    return file


def containers_change(file: Path | None, option: str = "--containers") -> Mapping[str, Any]:
    """The scenario field that `--containers` changes. Raises TorporError, BadTrace."""
    if file is None:
        return {}
    from torpor.simulator.fitting.container_files import read_containers

    existing_file(option, file)
    return {"containers": read_containers(file)}


def prices_from(file: Path | None, region: str | None) -> "Prices":
    """The prices of this file of AWS, else those of the list in use. Raises TorporError, PriceFileRefused, OSError."""
    from torpor.prices import current, read

    if file is not None:
        existing_file("--prices", file)
    return (current(region) if file is None else read(file, region)).prices

"""Where profiles are from: a CSV file of them, or an endpoint's ledger, by what is in the file."""

from collections.abc import Mapping
from pathlib import Path

from torpor.simulator.fitting import files
from torpor.simulator.fitting.variant import Fitted, fitted
from torpor.workloads.profile import ModelProfile
from torpor.workloads.reading.contents import SQLITE, csv_or_refused, kind

ACCEPTED = (
    "Profiles are a CSV with model and memory_bytes (.csv, .csv.gz), or an endpoint's ledger.sqlite"
    " (ledger.sqlite#endpoint/variant of one that has several)"
)


def source(profiles: Path | str) -> tuple[Mapping[str, ModelProfile], Fitted | None]:
    """The profiles, and what else a ledger tells. Raises BadTrace, which says what is taken."""
    path, one = divided(profiles)
    if path.suffix != ".gz" and kind(path) == SQLITE:
        endpoint, _, variant = one.partition("/")
        found = fitted(path, endpoint or None, variant or None)
        return found.profiles, found
    csv_or_refused(path, ACCEPTED)
    return files.given(path), None


def divided(profiles: Path | str) -> tuple[Path, str]:
    """The file, and which `endpoint/variant` of it is meant: after a `#`, unless that is a part of the file's name."""
    path, of, one = str(profiles).rpartition("#")
    if of and not Path(profiles).exists():
        return Path(path), one
    return Path(profiles), ""

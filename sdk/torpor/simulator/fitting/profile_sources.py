"""Reads profiles from a CSV file, or fits them to an endpoint's ledger, by the file's contents."""

from collections.abc import Mapping
from pathlib import Path

from torpor.simulator.fitting import profile_files
from torpor.simulator.fitting.fitted_variant import Fitted, fitted
from torpor.workloads.profile import ModelProfile
from torpor.workloads.trace_formats.file_kinds import SQLITE, csv_or_refused, kind

ACCEPTED = (
    "Profiles are a CSV with model and memory_bytes (.csv, .csv.gz), or an endpoint's ledger.sqlite"
    " (ledger.sqlite#endpoint/variant of one that has several)"
)


def read_source(profiles: Path | str) -> tuple[Mapping[str, ModelProfile], Fitted | None]:
    """The profiles, and all that was fitted to a ledger, else None. Raises BadTrace, which says what is accepted."""
    path, one = split_name(profiles)
    if path.suffix != ".gz" and kind(path) == SQLITE:
        endpoint, _, variant = one.partition("/")
        found = fitted(path, endpoint or None, variant or None)
        return found.profiles, found
    csv_or_refused(path, ACCEPTED)
    return profile_files.read_profiles(path), None


def split_name(profiles: Path | str) -> tuple[Path, str]:
    """The file, and its `endpoint/variant` after a `#`, unless that is part of the file's name."""
    path, of, one = str(profiles).rpartition("#")
    if of and not Path(profiles).exists():
        return Path(path), one
    return Path(profiles), ""

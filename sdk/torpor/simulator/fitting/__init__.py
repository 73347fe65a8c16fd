"""Profiles of models, the sizes and times of each: fitted to an endpoint's ledger, or read from a CSV file.

The ledger has no sizes on disk, so the bytes in memory are used for them, here and in the laws.
"""

from torpor.simulator.fitting.fitted_variant import Fitted, fitted
from torpor.simulator.fitting.profile_files import checked, read_profiles, write
from torpor.simulator.fitting.profile_sources import read_source, split_name
from torpor.simulator.fitting.regression import FittedLine
from torpor.simulator.fitting.time_laws import Law
from torpor.simulator.fitting.variant_records import Memory

__all__ = [
    "Fitted",
    "FittedLine",
    "Law",
    "Memory",
    "checked",
    "fitted",
    "read_profiles",
    "read_source",
    "split_name",
    "write",
]

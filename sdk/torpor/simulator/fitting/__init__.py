"""What each model takes, as an endpoint's own ledger tells it, or as a CSV file gives it. It simulates nothing.

The ledger has no sizes on disk: a model's bytes in memory stand for them, here and in the laws.
"""

from torpor.simulator.fitting.files import given, write
from torpor.simulator.fitting.laws import Law
from torpor.simulator.fitting.lines import FittedLine
from torpor.simulator.fitting.records import Memory
from torpor.simulator.fitting.sound import sound
from torpor.simulator.fitting.sources import divided, source
from torpor.simulator.fitting.variant import Fitted, fitted

__all__ = ["Fitted", "FittedLine", "Law", "Memory", "divided", "fitted", "given", "sound", "source", "write"]

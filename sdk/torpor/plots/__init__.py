"""Pictures of what serving costs and how well it serves, from values. They decide and simulate nothing.

Each function returns a matplotlib figure that is its caller's own. matplotlib is imported when one is drawn.
"""

from torpor.plots.breakeven import break_even_map
from torpor.plots.keeping import TTL, KeepAlivePoint, PolicyRow, keep_alive_frontier, policies
from torpor.plots.latency import latency_cdf
from torpor.plots.likeness import live_against_simulated
from torpor.plots.memory import hit_rate_against_memory
from torpor.plots.money import CostPoint, dollars_against_p99, pareto, waterfall
from torpor.plots.timeline import over_time

__all__ = [
    "TTL",
    "CostPoint",
    "KeepAlivePoint",
    "PolicyRow",
    "break_even_map",
    "dollars_against_p99",
    "hit_rate_against_memory",
    "keep_alive_frontier",
    "latency_cdf",
    "live_against_simulated",
    "over_time",
    "pareto",
    "policies",
    "waterfall",
]

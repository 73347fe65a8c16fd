"""Plots of costs, latencies, cold starts and hit rates, from values. They simulate nothing.

Each function returns a new matplotlib figure. matplotlib is imported when a function is called.
"""

from torpor.plots.breakeven_map import break_even_map
from torpor.plots.comparison import live_against_simulated
from torpor.plots.cost_plots import CostPoint, dollars_against_p99, pareto, waterfall
from torpor.plots.keep_alives import TTL, KeepAlivePoint, PolicyRow, keep_alive_frontier, policies
from torpor.plots.latency_curve import latency_cdf
from torpor.plots.memory_curve import hit_rate_against_memory
from torpor.plots.timeline_panels import over_time
from torpor.plots.versions import version_differences

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
    "version_differences",
    "waterfall",
]

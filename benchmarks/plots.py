"""Plots of a run's figures, as PNG: processor time by target, and latency by connections."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

Rows = Sequence[dict[str, Any]]
CONNECTIONS = 8
OURS, OTHERS, BARE = "#1f6f8b", "#b0b7bd", "#d98f3e"


def draw(results: dict[str, Any], folder: Path) -> None:
    """What can be drawn of the sections that ran, into a folder that is there."""
    warm = results["sections"].get("warm")
    if warm:
        _cpu(warm, folder / "cpu.png")
        _latency(warm, folder / "latency.png")


def _cpu(warm: Rows, path: Path) -> None:
    """From the dearest on, with the quartiles."""
    from matplotlib.figure import Figure

    rows = sorted((row for row in warm if row["connections"] == CONNECTIONS), key=lambda row: -float(row["cpu_us"]))
    figure = Figure(figsize=(7, 0.4 * len(rows) + 1.2), layout="constrained")
    axes = figure.subplots()
    for place, row in enumerate(rows):
        value = row["cpu_us"]
        spread = [[value - row["cpu_us_q1"]], [row["cpu_us_q3"] - value]]
        axes.errorbar(value, place, xerr=spread, fmt="o", color=_colour(row), capsize=3)
        axes.annotate(f"{value:,.0f}", (value, place), (0, 6), textcoords="offset points", ha="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [row["target"] for row in rows])
    axes.set_xscale("log")
    axes.grid(alpha=0.3)
    axes.set_xlabel("processor time per request, µs, all processes (logarithmic)")
    axes.set_title(f"One CSV row, small model, {CONNECTIONS} connections", fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)


def _latency(warm: Rows, path: Path) -> None:
    """The median as a line, p99 dashed, one panel for each target."""
    from matplotlib.figure import Figure

    targets = [name for name in dict.fromkeys(row["target"] for row in warm) if "ONNX" not in name]
    columns = 3
    lines = -(-len(targets) // columns)
    figure = Figure(figsize=(8, 1.9 * lines + 0.4), layout="constrained")
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).flat
    for panel in list(panels)[len(targets) :]:
        panel.set_axis_off()
    for panel, target in zip(figure.axes, targets, strict=False):
        rows = [row for row in warm if row["target"] == target]
        connections = [row["connections"] for row in rows]
        panel.plot(connections, [row["p50_ms"] for row in rows], "o-", color=_colour(rows[0]), label="p50")
        panel.plot(connections, [row["p99_ms"] for row in rows], "o--", color=_colour(rows[0]), alpha=0.6, label="p99")
        panel.set_title(target, fontsize=9, loc="left")
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_xticks(connections, [str(count) for count in connections])
        panel.grid(alpha=0.3)
    figure.axes[0].legend(fontsize=7, loc="lower right")
    figure.supxlabel("connections", fontsize=9)
    figure.supylabel("latency, ms", fontsize=9)
    figure.savefig(path, dpi=110)


def _colour(row: dict[str, Any]) -> str:
    target = str(row["target"])
    if target.startswith(("Torpor", "instance")):
        return OURS
    return BARE if target.startswith(("floor", "reference")) else OTHERS

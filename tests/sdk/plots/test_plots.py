"""The texts and axes of the plots, and the data that they refuse. No test compares pixels."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from io import BytesIO
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.text import Text

from tests.helpers.example_counts import tries
from tests.helpers.thorough_values import one_in
from torpor import plots
from torpor.hit_rates.curves import Curve
from torpor.plots import CostPoint, KeepAlivePoint, PolicyRow, formatting
from torpor.plots.labels import Box, LabelArea, Spot, place, spread
from torpor_container.how_to_install import how_to_install

MIB, GIB = 2**20, 2**30
NAN = float("nan")
NOTE = "Prices of 2026-09-12; 730 hours a month"

WAYS = (
    CostPoint("an endpoint each", 171_360.0, 0.02, "single"),
    CostPoint("MME, LRU", 871.2, 0.9, "MME"),
    CostPoint("MME, FIFO", 900.0, 1.1, "MME"),
    CostPoint("scale to zero", 61.3, 4.0, "asleep", sold_by_aws=False),
)
STEPS = (("as published", 171_360.0), ("one instance", 85_680.0), ("with a standby", 100_000.0), ("MME", 871.2))
RATES, SERVICES = np.geomspace(0.01, 100, 20), np.geomspace(0.01, 10, 15)
FLAT = np.full((15, 20), 100.0)
RISING = 100 * RATES[None, :] * SERVICES[:, None]
EXACT = Curve(np.array([GIB, 2 * GIB, 4 * GIB]), np.array([50.0, 80.0, 90.0]), 100, np.zeros(3))
SAMPLED = Curve(EXACT.capacities_bytes, EXACT.hits - 5, 100, np.full(3, 0.02))
KEPT = (
    KeepAlivePoint("TTL 1 h", "ttl", 0.06, 3080),
    KeepAlivePoint("TTL 1 min", "ttl", 0.42, 265),
    KeepAlivePoint("histogram", "histogram", 0.05, 4473),
)
TIMELINE = {
    "at_s": np.arange(0, 7200, 60.0),
    "requests": np.full(120, 30),
    "cold": np.full(120, 3),
    "instances": np.arange(120) // 60 + 1,
    "models": np.arange(120),
}
LATENCIES = {
    "warm": (np.linspace(0.01, 0.02, 100), np.linspace(0.01, 1, 100)),
    "cold": (np.linspace(0.01, 2.0, 100), np.linspace(0.01, 1, 100)),
}
POLICIES = (PolicyRow("LRU", 0.85, 440), PolicyRow("FIFO", 0.81, 570), PolicyRow("Belady", 0.92, 250, offline=True))
VERSIONS = {"Chicago": ([100.0, 200.0, 400.0], [101.0, 190.0, 480.0]), "Dallas": ([1.0], [1.0])}
COMPARED = (("p50 (s)", 0.0123, 0.0125), ("p99 (s)", 1.87, 2.4), ("refused", 0.0, 0.0))

DRAWN: dict[str, Callable[[], Figure]] = {
    "dollars_against_p99": lambda: plots.dollars_against_p99(WAYS, 1.0, NOTE),
    "waterfall": lambda: plots.waterfall(STEPS, NOTE, {"MME": 0.044}),
    "break_even_map": lambda: plots.break_even_map(RATES, SERVICES, {"always on": FLAT, "serverless": RISING}, NOTE),
    "hit_rate_against_memory": lambda: plots.hit_rate_against_memory({"LRU": EXACT}, {"ml.c5.large": 3 * GIB}, NOTE),
    "keep_alive_frontier": lambda: plots.keep_alive_frontier(KEPT, NOTE),
    "over_time": lambda: plots.over_time({**TIMELINE, "memory_bytes": np.full(120, 3 * GIB)}, NOTE),
    "latency_cdf": lambda: plots.latency_cdf(LATENCIES, 1.0, NOTE),
    "policies": lambda: plots.policies(POLICIES, NOTE),
    "live_against_simulated": lambda: plots.live_against_simulated(COMPARED, note=NOTE),
    "version_differences": lambda: plots.version_differences(VERSIONS, 0.1, NOTE),
}


def texts(figure: Figure) -> list[str]:
    """All that can be read in it, laid out as it is saved, each text in one line."""
    figure.draw_without_rendering()
    return [" ".join(text.get_text().split()) for text in figure.findobj(Text) if text.get_visible()]


@pytest.mark.parametrize("name", one_in(2, DRAWN))
def test_a_figure_has_a_title_units_and_the_callers_note_and_saves_without_a_warning(name: str) -> None:
    figure, picture = DRAWN[name](), BytesIO()
    figure.savefig(picture, format="png", dpi=50)
    assert picture.getvalue().startswith(b"\x89PNG")
    assert figure.get_suptitle()
    assert any(text.startswith(NOTE) for text in texts(figure))
    assert figure.axes[-1].get_xlabel()


def test_a_notebook_shows_a_figure_without_pyplot() -> None:
    code = """if True:
        import sys, torpor.plots
        assert not {"matplotlib", "numpy"} & set(sys.modules)
        figure = torpor.plots.waterfall([("as published", 171360.0), ("today", 146880.0)])
        picture, shown = figure._repr_png_()  # what IPython asks for
        assert picture.startswith(b"\\x89PNG") and shown == {"width": 800}
        assert "matplotlib.pyplot" not in sys.modules
    """
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_without_matplotlib_a_plot_names_the_command_that_brings_it() -> None:
    code = """if True:
        import sys
        sys.modules["matplotlib"] = None  # as if it was not installed
        import torpor.plots
        try:
            torpor.plots.waterfall([("as published", 171360.0)])
        except torpor.MissingExtra as error:
            print(error)
    """
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == f"a plot needs matplotlib: {how_to_install('plots')}\n"


# -- dollars against p99 -----------------------------------------------------------------------------------------------
amount = st.floats(0.01, 1e6)
ways = st.lists(st.builds(CostPoint, st.text(), st.none() | amount, st.none() | st.just(NAN) | amount), max_size=12)
few = st.builds(CostPoint, st.text(), st.integers(1, 3).map(float), st.integers(1, 3).map(float))


def no_worse(one: CostPoint, other: CostPoint) -> bool:
    return (one.usd or 0) <= (other.usd or 0) and (one.p99_s or 0) <= (other.p99_s or 0)


def beats(one: CostPoint, other: CostPoint) -> bool:
    return no_worse(one, other) and not no_worse(other, one)


@given(ways | st.lists(few, max_size=12))
def test_the_pareto_line_has_exactly_those_that_nothing_beats_the_fastest_first(points: Sequence[CostPoint]) -> None:
    known = [point for point in points if point.usd is not None and point.p99_s is not None and point.p99_s > 0]
    unbeaten = [point for point in known if not any(beats(other, point) for other in known)]
    line = plots.pareto(points)
    assert sorted(map(repr, line)) == sorted(map(repr, unbeaten))
    assert line == sorted(line, key=lambda point: point.p99_s or 0)


def test_the_ways_worth_choosing_are_labelled_and_the_others_are_not() -> None:
    read = texts(plots.dollars_against_p99(WAYS, 1.0))
    assert {"an endpoint each $171,360", "MME, LRU $871", "scale to zero $61.30", "SLO 1 s"} <= set(read)
    assert not any("FIFO" in text for text in read)
    assert "not sold by AWS" in read


def test_every_way_is_a_point_and_those_not_sold_are_hollow() -> None:
    axes = plots.dollars_against_p99(WAYS).axes[0]
    marks = [line for line in axes.lines if line.get_linestyle() == "None" and len(np.atleast_1d(line.get_xdata()))]
    assert [line.get_markerfacecolor() == "white" for line in marks] == [not way.sold_by_aws for way in WAYS]
    assert [line.get_alpha() for line in marks] == [1, 1, 0.4, 1]


def test_a_way_without_a_price_is_left_out_and_named() -> None:
    read = texts(
        plots.dollars_against_p99([*WAYS, CostPoint("ml.p9", None, 1.0), CostPoint("ml.q", 3.0, NAN)], note=NOTE)
    )
    assert f"{NOTE}. Not drawn, as not known: ml.p9, ml.q." in read


@given(st.lists(few, min_size=1, max_size=6))
@settings(max_examples=5, deadline=None)
def test_points_that_lie_on_each_other_are_drawn(points: Sequence[CostPoint]) -> None:
    named = [CostPoint(f"way {number}", point.usd, point.p99_s) for number, point in enumerate(points)]
    read = texts(plots.dollars_against_p99(named))
    for best in plots.pareto(named):  # points in one place share the label of one of them
        alike = [point.label for point in named if (point.usd, point.p99_s) == (best.usd, best.p99_s)]
        assert any(text.startswith(f"{label} ") for label in alike for text in read)


# -- the others --------------------------------------------------------------------------------------------------------
def test_a_waterfall_shows_dollars_factors_and_cold_requests() -> None:
    read = texts(plots.waterfall(STEPS, cold={"MME": 0.044}))
    assert {"$171,360", "$85,680", "$871", "÷ 2", "x 1.17", "÷ 115", "4.4%", "not known"} <= set(read)


def test_a_waterfalls_bar_goes_from_the_amount_before_to_the_one_after() -> None:
    axes = plots.waterfall(STEPS).axes[0]
    bars = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches]  # type: ignore[attr-defined]
    assert bars == [(85_680.0, 171_360.0), (85_680.0, 100_000.0), (pytest.approx(871.2), 100_000.0)]


def test_two_amounts_of_dollars_in_a_note_are_no_formula() -> None:
    figure = plots.waterfall([("from $2 to $1", 2.0)], "From $171,360 to $1,017")
    assert {"From $171,360 to $1,017", "from $2 to $1"} <= set(texts(figure))
    assert not any(text.get_parse_math() for text in figure.findobj(Text) if isinstance(text, Text))


def test_the_border_of_a_map_is_where_two_ways_cost_the_same() -> None:
    axes = plots.break_even_map(RATES, SERVICES, {"always on": FLAT, "serverless": RISING}).axes[0]
    first, second = (
        mesh.get_array() for mesh in axes.collections if mesh.get_array() is not None and mesh.get_rasterized()
    )
    assert first is not None
    assert second is not None
    fine = np.geomspace(0.01, 10, first.shape[0])[:, None] * np.geomspace(0.01, 100, first.shape[1])
    busy = fine > 1.000001  # the two cost the same at a load of one
    assert (~np.ma.getmaskarray(first) >= busy).all()
    assert (np.ma.getmaskarray(first) == ~np.ma.getmaskarray(second)).all()
    assert {"always on", "serverless"} <= set(texts(axes.figure))  # type: ignore[arg-type]


def test_a_map_names_the_ways_that_are_never_cheapest_and_the_blank_areas() -> None:
    part = np.where(RISING < 10, RISING + 1, np.nan)
    read = texts(plots.break_even_map(RATES, SERVICES, {"cheap": part, "dear": part * 2, "unknown": FLAT * NAN}))
    assert "Nowhere the cheapest: dear, unknown. Blank: no way to serve is known." in read


def test_a_region_too_small_for_its_name_is_in_the_legend() -> None:
    corner = np.where((RATES[None, :] < 0.015) & (SERVICES[:, None] < 0.02), 1.0, 1e6)
    axes = plots.break_even_map(RATES, SERVICES, {"on": FLAT, "one that scales to zero": corner}).axes[0]
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["one that scales to zero"]


def test_an_instances_memory_is_marked_with_its_hit_rate() -> None:
    read = texts(plots.hit_rate_against_memory({"LRU": EXACT}, {"ml.c5.large": 3 * GIB, "ml.r5.large": 14 * GIB}))
    assert {"ml.c5.large: 80%", "ml.r5.large", "LRU", "2 GiB"} <= set(read)


def test_a_band_is_drawn_only_for_an_estimate_and_explained() -> None:
    figure = plots.hit_rate_against_memory({"exact": EXACT, "sampled": SAMPLED})
    assert len(figure.axes[0].collections) == 1
    assert "Band: 2 standard errors of the sample to each side." in texts(figure)
    assert not plots.hit_rate_against_memory({"exact": EXACT}).axes[0].collections


def test_the_fixed_times_are_one_curve_in_order_and_the_others_are_points() -> None:
    figure = plots.keep_alive_frontier(KEPT)
    sweep, *points = figure.axes[0].lines
    assert np.asarray(sweep.get_xdata()).tolist() == [265, 3080]
    assert len(points) == len(KEPT)
    assert {"TTL 1 h", "TTL 1 min", "histogram"} <= set(texts(figure))


def test_a_plot_over_time_shows_requests_per_minute_and_the_cold_share() -> None:
    figure = plots.over_time({**TIMELINE, "at_s": TIMELINE["at_s"] * 2})
    assert len(figure.axes) == 3
    requests, cold = (patch.get_data().values for patch in figure.axes[0].patches)  # type: ignore[attr-defined]
    assert (set(requests), set(cold)) == ({15.0}, {1.5})
    assert {"of them cold (10% of all)", "Minutes since the start"} <= set(texts(figure))


def test_rows_too_many_to_be_seen_are_drawn_together_and_none_is_lost() -> None:
    rows = 10_001
    long = {name: np.ones(rows) for name in ("requests", "cold", "instances", "models")}
    figure = plots.over_time({**long, "at_s": np.arange(rows) * 60.0})
    values, edges, _ = figure.axes[0].patches[0].get_data()  # type: ignore[attr-defined]
    assert len(values) <= 800
    assert (values * np.diff(edges) / 60).sum() == pytest.approx(rows)
    assert "13 rows are drawn as one: the mean of rates, and the maximum of the others." in texts(figure)


def test_a_plot_of_latencies_names_p50_and_p99() -> None:
    read = texts(plots.latency_cdf({"all": ([0.01, 0.02, 3.0], [0.6, 0.98, 1.0]), "cut short": ([1.0], [0.9])}, 0.5))
    assert {"all: p50 10 ms, p99 3 s", "cut short: p50 1 s", "SLO 500 ms", "99.9%"} <= set(read)


def test_policies_are_sorted_and_offline_references_are_hatched() -> None:
    figure = plots.policies(POLICIES)
    left, right = figure.axes
    assert [text.get_text() for text in left.get_yticklabels()] == ["Belady (offline reference)", "LRU", "FIFO"]
    assert [bool(bar.get_hatch()) for bar in left.patches] == [True, False, False]
    assert [bar.get_width() for bar in right.patches] == [250, 440, 570]  # type: ignore[attr-defined]
    assert {"8%", "15%", "19%", "4.17 min"} <= set(texts(figure))


def test_a_simulation_is_held_to_the_band_also_where_nothing_can_be_drawn() -> None:
    rows = [*COMPARED, ("lost", 0, 3), ("woken", None, 3.0)]
    read = texts(plots.live_against_simulated(rows, band=0.05, note=NOTE))
    assert "Simulated against live: 2 of 4 figures within ±5%" in read
    assert f"{NOTE}. Outside, not drawn, as live is 0: lost. Not drawn, as not known: woken." in read
    assert {"p99 (s)", "1.87", "2.4"} <= set(read)


def test_the_predictions_of_two_versions_are_counted_by_model() -> None:
    read = texts(plots.version_differences(VERSIONS, 0.1, NOTE))
    assert "New version against old: 75% of 4 predictions within ±10%" in read
    assert {"Chicago", "66.7%", "+1%", "Dallas", "100%", "0%"} <= set(read)


REFUSED: dict[str, tuple[Callable[[], Figure], str]] = {
    "no points": (lambda: plots.dollars_against_p99([]), "points is empty"),
    "none known": (lambda: plots.dollars_against_p99([CostPoint("a", None, 1.0)]), "points has no point whose usd"),
    "no time": (lambda: plots.dollars_against_p99([CostPoint("a", 1.0, 0.0)]), "p99_s of 'a' is a number above 0"),
    "less than free": (
        lambda: plots.dollars_against_p99([CostPoint("a", -1.0, 1.0)]),
        "usd of 'a' is a number of 0 or",
    ),
    "an SLO of NaN": (lambda: plots.dollars_against_p99(WAYS, NAN), "slo_s is a number above 0, not nan"),
    "no steps": (lambda: plots.waterfall([]), "steps is empty"),
    "a free step": (lambda: plots.waterfall([("a", 0.0)]), "steps: the amount of 'a' is a number above 0"),
    "cold of whom": (lambda: plots.waterfall(STEPS, cold={"x": 0.1}), "cold has a share of 'x'"),
    "cold over all": (lambda: plots.waterfall(STEPS, cold={"MME": 1.1}), "cold of 'MME' is a share from 0 to 1"),
    "no ways": (lambda: plots.break_even_map(RATES, SERVICES, {}), "usd is empty"),
    "one rate": (lambda: plots.break_even_map([1.0], SERVICES, {"a": FLAT}), "rates_per_s has 1 values"),
    "rates down": (
        lambda: plots.break_even_map(RATES[::-1], SERVICES, {"a": FLAT}),
        "rates_per_s must be in ascending order",
    ),
    "turned": (lambda: plots.break_even_map(RATES, SERVICES, {"a": FLAT.T}), r"usd\['a'\] has the shape \(20, 15\)"),
    "below free": (lambda: plots.break_even_map(RATES, SERVICES, {"a": -FLAT}), r"usd\['a'\] contains a cost below 0"),
    "no curves": (lambda: plots.hit_rate_against_memory({}), "curves is empty"),
    "no memory": (lambda: plots.hit_rate_against_memory({"a": EXACT}, {"b": 0}), "marks: the bytes of 'b'"),
    "no kept": (lambda: plots.keep_alive_frontier([]), "points is empty"),
    "cold NaN": (lambda: plots.keep_alive_frontier([KeepAlivePoint("a", "ttl", NAN, 1)]), "cold_share of 'a'"),
    "no column": (lambda: plots.over_time({"at_s": [0, 1]}), "timeline has no column 'requests'"),
    "short column": (
        lambda: plots.over_time({**TIMELINE, "cold": [1]}),
        r"timeline\['cold'\] has 1 values, but needs 120",
    ),
    "NaN over time": (
        lambda: plots.over_time({**TIMELINE, "models": np.full(120, NAN)}),
        r"timeline\['models'\] contains nan",
    ),
    "time stands": (
        lambda: plots.over_time({**TIMELINE, "at_s": np.zeros(120)}),
        r"timeline\['at_s'\] needs strictly ascending times",
    ),
    "too cold": (lambda: plots.over_time({**TIMELINE, "cold": np.full(120, 31)}), "more cold requests than"),
    "no latencies": (lambda: plots.latency_cdf({}), "latencies is empty"),
    "unsorted": (
        lambda: plots.latency_cdf({"a": ([2.0, 1.0], [0.1, 1.0])}),
        r"latencies\['a'\]: the seconds must be in ascending order",
    ),
    "over all": (lambda: plots.latency_cdf({"a": ([1.0, 2.0], [0.1, 1.5])}), r"latencies\['a'\]: a share is a share"),
    "no policies": (lambda: plots.policies([]), "rows is empty"),
    "hit by more": (lambda: plots.policies([PolicyRow("a", 1.1, 1)]), "hit_ratio of 'a' is a share"),
    "no rows": (lambda: plots.live_against_simulated([]), "rows is empty"),
    "nothing known": (
        lambda: plots.live_against_simulated([("a", None, 1.0)]),
        "rows has no row with two known figures",
    ),
    "no predictions": (lambda: plots.version_differences({}, 0.1), "predictions is empty"),
    "from nothing": (lambda: plots.version_differences({"a": ([0.0], [1.0])}, 0.1), r"'a'\]: an old one is 0"),
    "another number": (lambda: plots.version_differences({"a": ([1.0], [1.0, 2.0])}, 0.1), "the new ones"),
    "no tolerance": (lambda: plots.version_differences(VERSIONS, 0), "tolerance is a number above 0"),
    "no band": (lambda: plots.live_against_simulated(COMPARED, band=0), "band is a number above 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_data_that_cannot_be_drawn_is_refused_by_name(case: str) -> None:
    drawing, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        drawing()


# -- labels and amounts ------------------------------------------------------------------------------------------------
@given(st.lists(st.floats(-100, 100), max_size=20), st.floats(1, 20))
def test_spread_labels_keep_their_order_and_a_gap_and_move_only_where_it_is_narrow(
    wanted: list[float], gap: float
) -> None:
    found = spread(wanted, gap)
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    assert all(found[after] - found[before] >= gap - 1e-6 for before, after in pairwise(order))
    assert sum(found) == pytest.approx(sum(wanted), abs=1e-6)
    if all(wanted[after] - wanted[before] >= gap for before, after in pairwise(order)):
        assert found == pytest.approx(wanted)


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), max_size=8, unique=True))
@settings(max_examples=tries(16), deadline=None)
def test_labels_with_room_hide_neither_each_other_nor_a_point_nor_leave(places: list[tuple[int, int]]) -> None:
    bounds, spots = Box(0, 0, 700, 700), [Spot(100.0 * x, 100.0 * y) for x, y in places]
    points = [spot.around(4) for spot in spots]
    boxes = place(spots, [Spot(50, 12)] * len(spots), LabelArea(bounds, points))
    assert all(box.common(point) == 0 for box in boxes for point in points)
    assert all(box.common(bounds) == pytest.approx(box.area) for box in boxes)
    assert all(one.common(other) == 0 for turn, one in enumerate(boxes) for other in boxes[:turn])


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (formatting.dollars(171_360), "$171,360"),
        (formatting.dollars(12.5), "$12.50"),
        (formatting.dollars(0.00123), "$0.0012"),
        (formatting.dollars(0), "$0"),
        (formatting.seconds(0.0123), "12.3 ms"),
        (formatting.seconds(600), "10 min"),
        (formatting.seconds(90_000), "1.04 days"),
        (formatting.percent(0.044), "4.4%"),
        (formatting.percent(0.9999), "99.99%"),
        (formatting.percent(0.00003), "0.003%"),
        (formatting.percent(1), "100%"),
        (formatting.memory(64 * GIB), "64 GiB"),
        (formatting.memory(1.5 * MIB), "1.5 MiB"),
        (formatting.plain(86_400), "86,400"),
    ],
)
def test_amounts_are_written_as_a_person_reads_them(told: str, text: str) -> None:
    assert told == text


@given(
    st.sampled_from([formatting.decades, formatting.doublings, formatting.times]),
    st.floats(1e-3, 1e6),
    st.floats(10, 1e8),
)
def test_an_axis_has_some_marks_and_few_and_none_beyond_its_ends(
    marks: formatting.Marks, least: float, factor: float
) -> None:
    found = marks(least, least * factor)
    assert len(found) <= formatting.MARKS_MAX
    assert all(least * 0.999 <= mark <= least * factor * 1.001 for mark in found)
    assert sorted(set(found)) == list(found)

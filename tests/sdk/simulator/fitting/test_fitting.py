"""Service times, fitted from ledgers of the endpoint's own writer with known times."""

import sqlite3
import tempfile
from collections.abc import Iterable
from contextlib import closing
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

import torpor
from tests.helpers.example_counts import tries
from tests.helpers.ledger_with_pages import NOON_S, LedgerWithPages, invocation, life
from tests.sdk.helpers.small_models import CITIES, ROWS
from torpor.simulator.fitting import Fitted, FittedLine, Law, fitted, read_profiles, write
from torpor.simulator.fitting.time_laws import ANY
from torpor.simulator.fitting.variant_records import DISK, STORE
from torpor.simulator.ledger_scenario import as_it_ran
from torpor.workloads import BadTrace, recorded
from torpor.workloads.profile import ModelProfile
from torpor_container.wire import ColdLoad, EffortFields
from torpor_endpoint.core.ledger_records import InstanceLife, InvocationRecord, MemoryReading

MB = 1_000_000
WARM = {"predict": 0.002, "overhead": 0.001}


def load(
    model: str,
    load_s: float = 0.1,
    size: int = MB,
    *,
    at_s: float = 0.0,
    fetched: tuple[float, float] | None = None,
    queue_s: float = 0.001,
    took_s: float | None = None,
    workers: int | None = None,
    once_s: float = 0.0,
    imports_s: float = 0.0,
    **more: float,
) -> InvocationRecord:
    """A request that brings its model in: from the store if it was `fetched` (download, unpack), else from disk.
    `more` are further steps; one that `took_s` longer than its own steps came while the load went on."""
    brought = dict(zip(("download", "unpack"), fetched or (), strict=False)) | {"load": load_s, "queue": queue_s}
    cold = ColdLoad(bytes=size, victims=[], reason="first use", took_s=took_s or sum(brought.values()), efforts={})
    if workers is not None:
        cold["workers"] = workers
    if once_s:
        cold["once_s"] = once_s
    if imports_s:
        cold["imports_s"] = imports_s
    return invocation(NOON_S + at_s, brought | WARM | more, model=model, cold=cold)


def evicting(model: str, queue_s: float) -> InvocationRecord:
    cold = ColdLoad(bytes=MB, victims=["another"], reason="evicted before", took_s=0.1 + queue_s, efforts={})
    return invocation(NOON_S, {"load": 0.1, "queue": queue_s, **WARM}, model=model, cold=cold)


def found(folder: Path, invocations: Iterable[InvocationRecord], lives: Iterable[InstanceLife] = ()) -> Fitted:
    recorded = LedgerWithPages(folder)
    for one in lives:
        recorded.ledger.lived(one)
    for request in invocations:
        recorded.ledger.invoked(request)
    recorded.ledger.close()
    return fitted(folder / "ledger.sqlite")


def line_of(result: Fitted, what: str, tier: str) -> FittedLine:
    (line,) = [law.line for law in result.laws if (law.what, law.tier) == (what, tier)]
    return line


# -- laws --------------------------------------------------------------------------------------------------------------
@settings(max_examples=tries(5))
@drawn(
    st.integers(0, 2**32 - 1),
    st.floats(0.001, 1.0),
    st.floats(20e6, 2e9),
    st.floats(0.0, 0.3),
    st.integers(40, 80),
)
def test_a_law_is_found_again_within_its_errors(
    seed: int, fixed_s: float, bytes_per_s: float, sigma: float, models: int
) -> None:
    rng = np.random.default_rng(seed)
    sizes = np.exp(rng.normal(np.log(64 * MB), 1.0, models)).astype(int).tolist()
    noise = np.exp(rng.normal(0.0, sigma, (models, 2))).tolist()
    requests = [
        load(f"m{number}.tar.gz", (fixed_s + size / bytes_per_s) * factor, size, at_s=number)
        for number, size in enumerate(sizes)
        for factor in noise[number]
    ]
    with tempfile.TemporaryDirectory() as folder:
        line = line_of(found(Path(folder), requests), "load_s", DISK)
    assert abs(line.s_per_byte - 1 / bytes_per_s) <= 7 * line.s_per_byte_error + 1e-6 / bytes_per_s
    if line.s_per_byte:
        assert abs(line.fixed_s - fixed_s) <= 7 * line.fixed_error_s + 1e-6 * fixed_s
        assert line.sigma == pytest.approx(sigma / 2**0.5, rel=0.9, abs=1e-6)  # a point is the middle of two


def test_a_few_wild_loads_do_not_bend_a_law(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    noise = np.exp(rng.normal(0.0, 0.1, 60))
    noise[::10] *= 30.0
    sizes = np.linspace(MB, 200 * MB, 60).astype(int).tolist()
    requests = [load(f"{n}.onnx", (0.2 + sizes[n] / 1e9) * noise[n], sizes[n]) for n in range(60)]
    line = line_of(found(tmp_path, requests), "load_s", DISK)
    assert line.fixed_s == pytest.approx(0.2, rel=0.15)
    assert line.bytes_per_s == pytest.approx(1e9, rel=0.3)


def test_the_law_is_the_median_where_the_size_makes_no_difference(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    seconds = np.exp(rng.normal(np.log(0.05), 0.2, 40)).tolist()
    requests = [load(f"{n}.onnx", seconds[n], size=MB * (n + 1)) for n in range(40)]
    line = line_of(found(tmp_path, requests), "load_s", DISK)
    assert (line.s_per_byte, line.bytes_per_s) == (0.0, np.inf)
    assert line.fixed_s == pytest.approx(np.median(seconds), rel=1e-6)
    assert 0.03 * line.fixed_s < line.fixed_error_s < 0.06 * line.fixed_s  # 0.2 * 1.25 / sqrt(40)
    assert line.sigma == pytest.approx(0.2, rel=0.3)


def test_formats_and_tiers_have_laws_of_their_own(tmp_path: Path) -> None:
    requests = [load("a.tar.gz", 0.1, fetched=(0.01, 0.02)), load("a.tar.gz", 0.2), load("v/b.1.onnx", 0.3)]
    result = found(tmp_path, requests)
    told = {(law.what, law.format, law.tier): law.line.fixed_s for law in result.laws if law.loads}
    assert told == {
        ("download_s", ".tar.gz", STORE): 0.01,
        ("unpack_s", ".tar.gz", STORE): 0.02,
        ("load_s", ".tar.gz", STORE): 0.1,
        ("load_s", ".tar.gz", DISK): 0.2,
        ("load_s", ".onnx", DISK): 0.3,
        ("download_s", ANY, STORE): 0.01,  # for the other format, which was never fetched
        ("unpack_s", ANY, STORE): 0.02,
    }
    assert result.profiles["v/b.1.onnx"].download_s == 0.01
    assert Law("unload_s", ANY, "memory", FittedLine(ModelProfile("b", 1, 1).unload_s)) in result.laws


# -- profiles ----------------------------------------------------------------------------------------------------------
def test_a_model_with_three_loads_has_its_own_times_and_another_the_law_at_its_size(tmp_path: Path) -> None:
    sizes = [MB * (n + 1) for n in range(10)]
    requests = [load(f"m{n}", 0.1 + sizes[n] / 1e8, sizes[n], at_s=n) for n in range(10)]
    requests += [load("own", seconds, size, at_s=60) for seconds, size in ((0.7, 9), (0.5, 5), (0.6, 6))]
    profiles = found(tmp_path, requests).profiles
    assert (profiles["own"].load_s, profiles["own"].memory_bytes, profiles["own"].disk_bytes) == (0.6, 6, 6)
    assert profiles["m3"].memory_bytes == 4 * MB
    assert profiles["m3"].load_s == pytest.approx(0.1 + 0.04, rel=0.01)


def test_requests_that_join_a_load_do_not_make_the_load_look_quicker(tmp_path: Path) -> None:
    loads = [load("a", 0.2, at_s=n, took_s=0.2 + n / 10_000) for n in range(3)]
    late = [load("a", 0.05, at_s=n, took_s=0.2 + n / 10_000, queue_s=0.3) for n in range(3) for _ in range(5)]
    alone = [load("a", 0.05, at_s=9, took_s=0.4)]  # the first one gave up, and is not told of
    result = found(tmp_path, late + loads + alone)
    assert result.profiles["a"].load_s == 0.2
    assert [law.loads for law in result.laws if law.what == "load_s"] == [3]


def test_predictions_and_overhead_are_the_warm_requests_means(tmp_path: Path) -> None:
    warm = [{"predict": seconds, "overhead": 0.0005} for seconds in (0.01, 0.02, 0.06)]
    requests = [invocation(NOON_S + 1, steps, model="a") for steps in warm]
    requests += [load("a", predict=5.0, overhead=4.0), load("b", predict=0.3)]
    result = found(tmp_path, requests)
    assert result.profiles["a"].predict_s == pytest.approx(0.03)
    assert result.profiles["b"].predict_s == 0.3  # no warm one
    assert result.overhead_s == pytest.approx(0.0005)


def test_a_minute_with_an_error_that_is_not_known_by_itself_does_not_count(tmp_path: Path) -> None:
    slow = {"predict": 60.0, "overhead": 0.001}
    requests = [load("a"), invocation(NOON_S + 60, model="a")]
    requests += [invocation(NOON_S + 120, slow, model="a", status=500), invocation(NOON_S + 120, model="a")]
    requests += [load("a", at_s=180, predict=9.0), invocation(NOON_S + 180, model="a")]
    assert found(tmp_path, requests).profiles["a"].predict_s == pytest.approx(0.002)


def test_a_minute_whose_cold_starts_are_pruned_does_not_count(tmp_path: Path) -> None:
    requests = [load("a"), load("a", at_s=60, predict=9.0)]
    requests += [invocation(NOON_S + 60 * minute, model="a") for minute in range(3)]
    whole = found(tmp_path, requests)
    recorded = LedgerWithPages(tmp_path)
    recorded.ledger.tables.database.rows("DELETE FROM cold_starts WHERE at_s = ?", NOON_S + 60)
    recorded.ledger.close()
    trimmed = fitted(tmp_path / "ledger.sqlite")
    assert whole.profiles["a"].predict_s == pytest.approx(0.002)
    assert trimmed.profiles["a"].predict_s == pytest.approx(0.002)


def test_a_model_that_was_called_and_never_seen_to_load_is_assumed_and_named(tmp_path: Path) -> None:
    requests = [load(f"{n}.onnx", 0.1 * n, MB * n) for n in (1, 2, 9)]
    requests += [invocation(model="resident.onnx")]
    result = found(tmp_path, requests)
    assert result.assumed == ("resident.onnx",)
    assert (result.profiles["resident.onnx"].memory_bytes, result.profiles["resident.onnx"].load_s) == (2 * MB, 0.2)


def test_a_name_that_was_only_ever_an_error_is_no_model(tmp_path: Path) -> None:
    """Cold or warm; one that once answered is a model, also where only its cold start is still known."""
    wrong = [invocation(model=name, status=400, steps={"download": 0.003}) for name in ("typo", "other", "other")]
    wrong += [invocation(model="warm", status=424)]
    recorded = LedgerWithPages(tmp_path)
    for one in [load("a"), load("b"), invocation(NOON_S + 60, model="b", status=500), *wrong]:
        recorded.ledger.invoked(one)
    recorded.flush()
    recorded.ledger.tables.database.rows("DELETE FROM minutes WHERE model = 'b' AND minute_s = ?", NOON_S)
    recorded.ledger.close()
    result = fitted(tmp_path / "ledger.sqlite")
    assert (set(result.profiles), result.assumed) == ({"a", "b"}, ())


# -- work and waiting --------------------------------------------------------------------------------------------------
def seen(folder: Path, waits: int) -> Fitted:
    """Models of three sizes, loaded and called where `waits` others want the same processor: whoever has work stands in
    line for so many times as long, and four of five wait for a lock besides, as long as they work."""
    rng = np.random.default_rng(waits)
    requests = []
    for number in range(300):
        size = (1, 2, 4)[number % 3]
        kept = rng.random() < 0.8 and waits > 0
        unpack, read, first, left = (
            EffortFields(work_s=size * work_s, delay_s=delay_s + kept * size * work_s)
            for work_s, delay_s in ((0.002, 0.001), (0.01, 0.003), (0.001, 0.0), (0.0008, 0.0002))
        )

        def wall_s(effort: EffortFields) -> float:
            return (1 + waits) * effort["work_s"] + effort["delay_s"]

        steps = {"download": 0.02 * (1 + kept * waits), "unpack": wall_s(unpack), "load": wall_s(read)}
        steps |= {"queue": 0.0005 * (1 + kept * waits) + number % 2 * wall_s(left), "predict": wall_s(first)}
        efforts = {"unpack": unpack, "load": read} | ({"unload": left} if number % 2 else {})
        cold = ColdLoad(
            bytes=size * MB,
            victims=["another"] if number % 2 else [],
            reason="first use",
            took_s=sum(steps.values()) - steps["predict"],
            efforts=efforts,
        )
        at_s = NOON_S + 60 * number
        requests += [invocation(at_s, steps, model=f"m{size}", instance=f"i-{number}", cold=cold, effort=first)]
        warm = {"predict": wall_s(first), "overhead": 0.001}
        requests += [invocation(at_s + 1, warm, model=f"m{size}", effort=first if number % 4 else None)]
    return found(folder, requests)


def test_a_busy_and_an_idle_machine_give_the_same_profile_of_a_model(tmp_path: Path) -> None:
    for folder in ("busy", "rest"):
        (tmp_path / folder).mkdir()
    busy, rest = seen(tmp_path / "busy", waits=9), seen(tmp_path / "rest", waits=0)
    for name, profile in rest.profiles.items():
        size = int(name[1:])
        known = (size * MB, size * MB, 0.02, size * 0.002, size * 0.01, 0.0026, size * 0.001, 0.001, 0.003, 0.0, 0)
        assert astuple(profile)[: 1 + len(known)] == (name, *(pytest.approx(one, rel=0.4) for one in known))
        again = astuple(busy.profiles[name])[: 1 + len(known)]
        assert again == (name, *(pytest.approx(one, rel=1e-6) for one in astuple(profile)[1 : 1 + len(known)]))
    assert busy.beside_load_s == pytest.approx(rest.beside_load_s, rel=0.1)
    assert busy.load_sigma == pytest.approx(rest.load_sigma, abs=1e-6)


def test_the_waiting_of_a_script_is_a_delay(tmp_path: Path) -> None:
    asks = EffortFields(work_s=0.002, delay_s=0.05)
    warm = [invocation(NOON_S + 60 * n, {"predict": 0.07}, model="a", effort=asks) for n in range(5)]
    profile = found(tmp_path, [load("a"), *warm]).profiles["a"]
    assert profile.predict_s == pytest.approx(0.002)
    assert profile.predict_delay_s == pytest.approx(0.05)


def test_time_that_was_not_measured_counts_as_work(tmp_path: Path) -> None:
    profile = found(tmp_path, [load("a", 0.3), invocation(model="a")]).profiles["a"]
    assert (profile.load_s, profile.load_delay_s, profile.predict_delay_s) == (0.3, 0.0, 0.0)
    assert profile.predict_s == pytest.approx(0.002)


def test_some_microseconds_are_no_waiting(tmp_path: Path) -> None:
    warm = invocation(model="a", effort=EffortFields(work_s=0.002, delay_s=0.00009))
    assert found(tmp_path, [load("a"), warm]).profiles["a"].predict_delay_s == 0.0


def test_what_the_machine_needed_once_is_of_the_first_load_alone(tmp_path: Path) -> None:
    """It is in no law, and does not make the machine a busy one."""
    first = [load(f"m{n}", 2.1, once_s=2.0, at_s=n) for n in range(3)]
    later = [load(f"m{n}", 0.1, at_s=60 + n) for n in range(3)]
    result = found(tmp_path, [*first, *later])
    assert [one.load_s for one in result.profiles.values()] == pytest.approx([0.1] * 3)
    assert [one.once_s for one in result.profiles.values()] == [2.0] * 3
    assert result.stand_in is not None
    assert result.stand_in("another").once_s == 0.0


def test_what_the_machine_imported_once_is_of_no_model(tmp_path: Path) -> None:
    """Loads that came beside the first waited for a part of it."""
    first = [load(f"m{n}", 3.1 - n, imports_s=3.0 - n, at_s=n) for n in range(3)]
    later = [load(f"m{n}", 0.1, at_s=60 + n) for n in range(3)]
    result = found(tmp_path, [*first, *later])
    assert result.imports_s == 3.0
    assert [one.load_s for one in result.profiles.values()] == pytest.approx([0.1] * 3)
    assert [one.once_s for one in result.profiles.values()] == [0.0] * 3
    assert as_it_ran(result).imports_s == 3.0
    assert {"figure": "imports_s", "value": 3.0} in result.explain()


# -- the variant's figures ---------------------------------------------------------------------------------------------
def test_the_unload_time_is_the_longer_queue_of_loads_that_evicted_others(tmp_path: Path) -> None:
    requests = [load("a", queue_s=queue_s, predict=0.004) for queue_s in (0.001, 0.002, 0.003)]
    requests += [evicting("a", queue_s) for queue_s in (0.012, 0.010, 0.900)]
    requests += [invocation(model="a")]
    result = found(tmp_path, requests)
    assert result.profiles["a"].unload_s == pytest.approx(0.010)
    assert result.beside_load_s == pytest.approx(0.002)
    assert result.first_predict_s == pytest.approx((0.004 - 0.002) / 2)  # half of them are as quick as warm ones


def test_the_wake_time_is_the_wait_of_requests_that_found_no_instance(tmp_path: Path) -> None:
    requests = [load("a", wake=seconds) for seconds in (0.05, 0.07, 0.06)]
    requests += [load("a", hold=3.0), invocation(steps={"wake": 60.0, "overhead": 0.1}, model="a", status=429)]
    assert found(tmp_path, requests).wake_s == 0.06


def test_without_a_wake_it_is_how_long_instances_took_to_start_but_for_the_first(tmp_path: Path) -> None:
    first = life(NOON_S, instance="i-1", ready_s=NOON_S + 9, why_started="deployed")
    second = life(NOON_S + 50, instance="i-2", ready_s=NOON_S + 50.25, why_started="busy")
    assert found(tmp_path, [load("a")], [first, second]).wake_s == 0.25


def test_a_ledger_without_a_start_gives_no_wake_time(tmp_path: Path) -> None:
    assert found(tmp_path, [load("a")]).wake_s is None


def test_a_single_model_takes_no_room_and_is_named_after_its_variant(tmp_path: Path) -> None:
    requests = [invocation(steps={"wake": 0.4, **WARM}, model=""), invocation(model="")]
    result = found(tmp_path, requests)
    assert result.profiles == {"v": ModelProfile("v", 0, 0, 0.0, 0.0, 0.0, 0.0, 0.002)}
    assert (result.wake_s, result.assumed, result.laws) == (0.4, (), ())


@pytest.mark.thorough
@settings(max_examples=10)
@drawn(st.integers(0, 2**32 - 1), st.floats(0.02, 0.8), st.floats(0.02, 0.8))
def test_spreads_are_found_again(seed: int, predict_sigma: float, load_sigma: float) -> None:
    rng = np.random.default_rng(seed)
    predict_s = (0.01 * np.exp(rng.normal(-(predict_sigma**2) / 2, predict_sigma, 400))).tolist()
    load_s = (0.1 * np.exp(rng.normal(0.0, load_sigma, 400))).tolist()
    requests = [load(f"m{n % 20}", load_s[n], at_s=n) for n in range(400)]
    requests += [
        invocation(NOON_S + 60 * n, {"predict": predict_s[n], "overhead": 0.001}, model=f"m{n % 20}")
        for n in range(100, 400)
    ]
    with tempfile.TemporaryDirectory() as folder:
        result = found(Path(folder), requests)
    assert result.predict_sigma == pytest.approx(predict_sigma, rel=0.25)  # 6 of its 4 %
    assert result.load_sigma == pytest.approx(load_sigma, rel=0.25)


def test_the_spread_of_models_loaded_once_is_that_around_the_law(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    requests = [load(f"m{n}", 0.1 * float(np.exp(rng.normal(0.0, 0.4)))) for n in range(200)]
    assert found(tmp_path, requests).load_sigma == pytest.approx(0.4, rel=0.25)


def test_every_figure_and_law_has_a_row(tmp_path: Path) -> None:
    result = found(tmp_path, [load("a", fetched=(0.01, 0.02))])
    rows = result.explain()
    assert [row["figure"] for row in rows][:2] == ["wake_s", "overhead_s"]
    (download,) = [row for row in rows if row["figure"] == "download_s"]
    assert (download["value"], download["tier"], download["models"], download["loads"]) == (0.01, STORE, 1, 1)
    assert len(rows) == 7 + len(result.laws)


# -- a real endpoint ---------------------------------------------------------------------------------------------------
def test_a_real_endpoint_is_fitted_while_it_runs(endpoint: torpor.Local) -> None:
    for _ in range(3):
        for city in CITIES:
            endpoint.invoke(city, ROWS)
    told = endpoint.cold_starts()  # what was told is written by now
    result = fitted(endpoint.data_dir / "ledger.sqlite", endpoint.name)
    for city in CITIES:
        profile, seen = result.profiles[city], told[(told.model == city) & (told.loaded_bytes > 0)]
        assert profile.memory_bytes == round(seen.loaded_bytes.median())
        assert 0 < profile.load_s + profile.load_delay_s <= told.load_s.max()
        assert 0 < profile.predict_s < 1
    assert not set(CITIES) & set(result.assumed)
    assert 0 < result.overhead_s < 1


# -- what cannot be fitted --------------------------------------------------------------------------------------------
def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadTrace, match=r"none\.sqlite is not there: name the ledger\.sqlite in an endpoint's data"):
        fitted(tmp_path / "none.sqlite")
    (tmp_path / "other.sqlite").write_text("no database at all, and long enough to be seen as none " * 20)
    with pytest.raises(BadTrace, match=r"other\.sqlite cannot be read as a ledger: file is not a database"):
        fitted(tmp_path / "other.sqlite")


def test_a_ledger_that_is_cut_short_or_too_old_says_what_to_do(tmp_path: Path) -> None:
    found(tmp_path, [load("a")])
    whole = tmp_path / "ledger.sqlite"
    (tmp_path / "cut.sqlite").write_bytes(whole.read_bytes()[:20_000])
    with pytest.raises(
        BadTrace, match=r"cut\.sqlite cannot be read as a ledger: .*\. If it is cut short, copy it again"
    ):
        fitted(tmp_path / "cut.sqlite")
    with closing(sqlite3.connect(whole)) as ledger, ledger:
        ledger.execute("ALTER TABLE cold_starts DROP COLUMN effort")
    with pytest.raises(BadTrace, match=r"is a ledger of an earlier version \(no such column: effort\): `torpor up"):
        fitted(whole)


def test_a_ledger_with_too_few_records_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadTrace, match="houses/v has no recorded load: call models that are not in memory, or give"):
        found(tmp_path, [invocation(model="a")])
    with pytest.raises(BadTrace, match="has no requests to nobody/w"):
        fitted(tmp_path / "ledger.sqlite", "nobody", "w")
    with pytest.raises(BadTrace, match="has several variants: name one of flats/v, houses/"):
        found(tmp_path, [invocation(model="a", endpoint="flats")])


def test_a_ledger_with_only_errors_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadTrace, match="houses/v has no recorded request that succeeded"):
        found(tmp_path, [invocation(model="", status=500)])


# -- given profiles ----------------------------------------------------------------------------------------------------
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
sizes = st.integers(0, 2**63 - 1)
times = st.floats(0, 1e300)


@drawn(path_rows=st.lists(st.builds(ModelProfile, names, sizes, sizes, *[times] * 5), min_size=1))
def test_written_profiles_are_read_back_equal(path_rows: list[ModelProfile]) -> None:
    profiles = {profile.name: profile for profile in path_rows}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profiles.csv"
        write(profiles, path)
        assert read_profiles(path) == profiles


def test_a_missing_value_is_the_default_of_the_profile(tmp_path: Path) -> None:
    (tmp_path / "profiles.csv").write_text("memory_bytes,model,load_s,disk_bytes\n10,a,,\n\n20,b,0.5,7\n")
    assert read_profiles(tmp_path / "profiles.csv") == {
        "a": ModelProfile("a", 10, 10),
        "b": ModelProfile("b", 20, 7, load_s=0.5),
    }


def test_bytes_may_be_written_as_people_write_many(tmp_path: Path) -> None:
    (tmp_path / "profiles.csv").write_text("model,memory_bytes\na,1e6\n")
    assert read_profiles(tmp_path / "profiles.csv") == {"a": ModelProfile("a", 1_000_000, 1_000_000)}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("model;memory_bytes\na;1\n", r"its columns are separated by semicolons: separate them by commas"),
        ("model,memory_bytes\na,nan\n", r"row 1: memory_bytes 'nan' is not a whole number of bytes"),
        ("", r"has no column model: the header needs model and memory_bytes"),
        ("model,memory_bytes\n", r"has no models: write a row for each below the header"),
        ("model,load_s\na,1\n", r"has no column memory_bytes"),
        ("model,memory_bytes,speed\n", r"column 'speed' is unknown: the columns are model, memory_bytes, disk_bytes, "),
        ("model,model,memory_bytes\n", r"there are two columns model"),
        ("model,memory_bytes\na,1\nb\n", r"row 2 has 1 columns, and the header 2"),
        ("model,memory_bytes\na,1\na,2\n", r"row 2: model 'a' has two rows: keep one of them"),
        ("model,memory_bytes\n ,1\n", r"row 1: model is empty"),
        ("model,memory_bytes\na,\n", r"row 1: memory_bytes is empty"),
        ("model,memory_bytes\na,-1\n", r"row 1: memory_bytes is 0 or more, and less than 2\^63, not -1"),
        ("model,memory_bytes\na,1.5\n", r"row 1: memory_bytes '1.5' is not a whole number of bytes"),
        (f"model,memory_bytes\na,{2**63}\n", r"row 1: memory_bytes is .* less than 2\^63, not 9223372036854775808"),
        ("model,memory_bytes,load_s\na,1,soon\n", r"row 1: load_s 'soon' is not a number"),
        ("model,memory_bytes,load_s\na,1,-0.1\n", r"row 1: load_s is 0 or more, not -0.1"),
        ("model,memory_bytes,load_s\na,1,nan\n", r"row 1: load_s is 0 or more, not nan"),
    ],
)
def test_the_error_of_a_bad_file_of_profiles_names_the_place(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "profiles.csv").write_text(text)
    with pytest.raises(BadTrace, match=rf"profiles\.csv:? ?{told}"):
        read_profiles(tmp_path / "profiles.csv")


def test_a_missing_file_of_profiles_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadTrace, match=r"profiles\.csv: .*No such file"):
        read_profiles(tmp_path / "profiles.csv")


# -- scripts -----------------------------------------------------------------------------------------------------------
def test_the_last_load_says_how_many_workers_a_model_has_and_others_without_loads_are_like_it(tmp_path: Path) -> None:
    requests = [
        load("native", workers=0),
        load("one", workers=1, at_s=1.0),
        load("one", 0.2, workers=3, at_s=2.0),
        load("old", at_s=3.0),
        invocation(NOON_S + 4.0, WARM, model="resident"),
    ]
    result = found(tmp_path, requests)
    assert {name: one.workers for name, one in result.profiles.items()} == {
        "native": 0,
        "one": 3,
        "old": 0,
        "resident": 3,
    }
    assert result.unworked == ("old",)


def test_a_script_s_wait_for_its_turn_after_the_load_is_not_of_the_load(tmp_path: Path) -> None:
    requests = [load(f"m{n}", queue_s=0.501, took_s=0.101, workers=1, at_s=n) for n in range(3)]
    assert found(tmp_path, requests).beside_load_s == pytest.approx(0.001)


def test_a_ledger_of_an_earlier_version_is_read_and_the_answer_says_what_is_assumed_of_its_models(
    tmp_path: Path,
) -> None:
    found(tmp_path, [load("a"), load("b", at_s=1.0)])
    result = torpor.simulate(recorded([(0.0, "a")]), tmp_path / "ledger.sqlite")
    (note,) = [note for note in result.assumed if "answers" in note]
    assert note.startswith("what answers the requests of 2 models: the instance's threads, since the ledger does not")


@pytest.mark.parametrize(("told", "workers", "unworked"), [(1, 1, ()), (0, 0, ()), (None, 0, ("v",))])
def test_the_readings_of_a_single_model_say_whether_it_is_a_script(
    tmp_path: Path, told: int | None, workers: int, unworked: tuple[str, ...]
) -> None:
    recorded = LedgerWithPages(tmp_path)
    recorded.ledger.invoked(invocation(NOON_S, model=""))
    for number in range(3):
        recorded.ledger.looked(MemoryReading(NOON_S + number, "houses", "v", "i-1", MB, 0, workers=told))
    recorded.ledger.close()
    result = fitted(tmp_path / "ledger.sqlite")
    assert (result.profiles["v"].workers, result.unworked) == (workers, unworked)


def test_a_ledger_without_the_columns_of_workers_is_read(tmp_path: Path) -> None:
    found(tmp_path, [load("a")])
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as ledger, ledger:
        for column in ("told", "workers"):
            ledger.execute(f"ALTER TABLE memory DROP COLUMN {column}")
    assert fitted(tmp_path / "ledger.sqlite").profiles["a"].workers == 0

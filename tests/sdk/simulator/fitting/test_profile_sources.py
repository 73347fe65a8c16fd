"""A ledger can stand for profiles; a file that is neither a ledger nor a CSV is refused by its kind."""

import gzip
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.helpers.ledger_with_pages import ALWAYS_ON, NOON_S, LedgerWithPages, invocation, life
from torpor.simulator.fitting import read_source
from torpor.simulator.planning.cheapest_plan import plan
from torpor.simulator.planning.plan_space import PlanSpace
from torpor.simulator.simulation_inputs import load
from torpor.simulator.simulation_run import run, simulate
from torpor.workloads import BadTrace, recorded
from torpor_container.wire import ColdLoad
from torpor_endpoint.core.ledger_records import MemoryReading

MIB = 2**20


def ledger(folder: Path) -> Path:
    written = LedgerWithPages(folder)
    written.ledger.set_up("houses", ALWAYS_ON)
    written.ledger.lived(life())
    for number, model in enumerate("abc"):
        steps = {"load": 0.2, "queue": 0.0, "predict": 0.02, "overhead": 0.01}
        cold = ColdLoad(
            bytes=MIB, victims=["z"], reason="first use", took_s=0.2, efforts={}, workers=0, own_bytes=17 * MIB
        )
        cold["budget_bytes"] = 40 * MIB
        written.ledger.invoked(invocation(NOON_S + number, steps, model=model, cold=cold))
        written.ledger.invoked(invocation(NOON_S + 60 + number, model=model))
    written.ledger.looked(MemoryReading(NOON_S + 90, "houses", "v", "i-1", 40 * MIB, 9 * MIB))
    written.ledger.close()
    return folder / "ledger.sqlite"


def test_a_ledger_gives_profiles_and_the_measured_scenario(tmp_path: Path) -> None:
    calls = recorded([(0.0, "a"), (1.0, "b"), (2.0, "a")])
    ledger(tmp_path)
    for named in ("ledger.sqlite", "ledger.sqlite#houses", "ledger.sqlite#houses/v"):
        given = load(calls, tmp_path / named)
        assert (set(given.profiles), given.scenario.memory_mib) == (set("abc"), 40.0)
        assert given.scenario.own_bytes == 17 * MIB, "when models had to leave, not at rest"
    result = simulate(calls, tmp_path / "ledger.sqlite")
    assert (result.requests, result.loads, result.scenario.models_bytes) == (3, 2, 23 * MIB)


def test_models_that_the_ledger_lacks_get_the_usual_size_and_the_answer_names_them(tmp_path: Path) -> None:
    calls = recorded([(0.0, "a"), (1.0, "x"), (2.0, "y"), (3.0, "x")])
    given = load(calls, ledger(tmp_path))
    result = run(given, given.scenario)
    assert (result.requests, result.loads, result.failed) == (4, 3, 0)
    like = given.profile("x")
    assert (like.memory_bytes, like.load_s) == (MIB, given.profiles["a"].load_s)
    assert like.predict_s == pytest.approx(0.002)
    note = "2 models that the ledger lacks (x, y): the usual size, and the times of its other models at that"
    assert note in result.assumed
    assert note in plan(given, slo_s=1.0, quantile=0.2, space=PlanSpace(["ml.m5.large"], idle_s=())).assumed
    assert load(recorded([(0.0, "a")]), ledger(tmp_path)).notes == ()


def test_a_single_model_variants_ledger_has_no_times_for_other_models(tmp_path: Path) -> None:
    written = LedgerWithPages(tmp_path)
    written.ledger.invoked(invocation(NOON_S, model=""))
    written.ledger.close()
    with pytest.raises(BadTrace, match=r"'x' is called, and has no profile: .*sqlite is of a single-model variant"):
        simulate(recorded([(0.0, "x")]), tmp_path / "ledger.sqlite")


def test_a_model_that_no_instance_holds_has_no_price(tmp_path: Path) -> None:
    (tmp_path / "models.csv").write_text(f"model,memory_bytes\na,{2**50}\n")
    with pytest.raises(BadTrace, match="'a' needs 1,125,899,906,842,624 bytes of memory, and no instance holds it"):
        load(recorded([(0.0, "a")]), tmp_path / "models.csv")


def other_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE cats (name TEXT)")
        database.commit()


NEITHER: dict[str, tuple[Callable[[Path], object], str]] = {
    "a database that is no ledger": (other_database, "but no ledger: it has no table minutes .it has cats"),
    "Parquet": (lambda path: path.write_bytes(b"PAR1" + bytes(20)), "is a Parquet file. Profiles are a CSV"),
    "gzip by another name": (lambda path: path.write_bytes(gzip.compress(b"model")), "name it .csv.gz"),
    "nothing": (lambda path: path.touch(), "is empty. Profiles are a CSV with model and memory_bytes"),
    "a folder": (lambda path: path.mkdir(), "is a folder. Profiles are"),
    "bytes": (lambda path: path.write_bytes(b"abc\x00\xff"), "is not text. Profiles are"),
    "another encoding": (lambda path: path.write_bytes(b"mod\xe8le"), "is not text in UTF-8"),
    "numpy": (lambda path: path.write_bytes(b"\x93NUMPY\x01"), "is an array of numpy"),
}


@pytest.mark.parametrize("kind", NEITHER)
def test_a_file_that_is_neither_ledger_nor_profiles_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    make, told = NEITHER[kind]
    make(tmp_path / "profiles.csv")
    with pytest.raises(BadTrace, match=told):
        read_source(tmp_path / "profiles.csv")


def test_a_packed_csv_is_read_and_a_packed_ledger_is_refused(tmp_path: Path) -> None:
    (tmp_path / "models.csv.gz").write_bytes(gzip.compress(b"model,memory_bytes\na,5\n"))
    assert set(read_source(tmp_path / "models.csv.gz")[0]) == {"a"}
    (tmp_path / "ledger.sqlite.gz").write_bytes(gzip.compress(ledger(tmp_path).read_bytes()))
    with pytest.raises(BadTrace, match=r"is a SQLite database\. Profiles are"):
        read_source(tmp_path / "ledger.sqlite.gz")

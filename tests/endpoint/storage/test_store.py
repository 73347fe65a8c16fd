"""The store keeps its records through restarts, kills and races."""

import json
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.account.helpers.databases import OpenPart
from torpor_account.storage.databases.database import SchemaTooNew
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_account.storage.record_table import Card
from torpor_endpoint.core.resource_records import (
    Container,
    DataCapture,
    EndpointConfig,
    EndpointRecord,
    EndpointStatus,
    ModelRecord,
    Serverless,
    Variant,
)
from torpor_endpoint.storage.schema import RECORDS
from torpor_endpoint.storage.store import Store

S = EndpointStatus


@pytest.fixture
def store(opened: OpenPart) -> Iterator[Store]:
    database = opened(RECORDS)
    yield Store(database, clock)
    database.close()


def clock() -> float:
    return 1000.25


def endpoint(name: str = "e", created_s: float = 1.1, status: EndpointStatus = S.CREATING) -> EndpointRecord:
    container = Container("torpor", "s3://b/p/", multi_model=True, environment={"K": "V"})
    capture = DataCapture("s3://b/captured", 20, csv_types=("text/csv",))
    containers = (container, Container("torpor", name="second"))
    variants = (
        Variant("a", "m", containers, serverless=Serverless(2048, 5)),
        Variant("b", "m", containers[:1], 0.5, capture=capture),
    )
    return EndpointRecord(name, f"arn:x:endpoint/{name.lower()}", created_s, created_s, status, "c", variants)


def test_records_survive_a_restart(opened: OpenPart) -> None:
    model = ModelRecord("m", "arn:x:model/m", 0.1, (Container("torpor"),), {"ModelName": "m"})
    config = EndpointConfig("c", "arn:x:endpoint-config/c", 0.2, {"ProductionVariants": [{"VariantName": "a"}]})
    coming = replace(endpoint(), pending_config_name="d", pending_variants=endpoint().variants)
    pending = replace(coming, pending_told=("b",))
    database = opened(RECORDS)
    store = Store(database, clock)
    assert store.add_model(model, {"team": "blue"})
    assert store.add_endpoint_config(config)
    assert store.add_endpoint(pending)
    database.close()
    database = opened(RECORDS)
    again = Store(database, clock)
    assert (again.model("m"), again.endpoint_config("c"), again.endpoint("e")) == (model, config, pending)
    assert again.tags.of(model.arn) == {"team": "blue"}
    database.close()


def of_one_container(record: dict[str, Any]) -> dict[str, Any]:
    """The record as a Torpor wrote it whose models had one container."""
    container = {**record.pop("containers")[0], "hostname": "h"}
    del container["name"], record["direct"]
    return {**record, "container": container}


def test_records_of_one_container_are_read(tmp_path: Path) -> None:
    stored = asdict(endpoint())
    for member in ("variants", "pending_variants"):
        stored[member] = [of_one_container(variant) for variant in asdict(endpoint())["variants"]]
    model = of_one_container(asdict(ModelRecord("m", "arn:x:model/m", 0.1, (Container("torpor"),), {})))
    before = SqliteFile(tmp_path / "db", RECORDS._replace(migrations=RECORDS.migrations[:3]))
    for table, record in (("models", model), ("endpoints", stored)):
        row = (record["name"], record["name"], json.dumps(record))
        before.changed(f"INSERT INTO {table} (key, name, record) VALUES (?, ?, ?)", *row)
    before.close()
    database = SqliteFile(tmp_path / "db", RECORDS)
    store = Store(database, clock)
    named = (Container("torpor", name="h"),)
    found, read = store.endpoint("e"), store.model("m")
    assert read is not None
    assert read.containers == named
    assert found is not None
    variants = tuple(replace(one, containers=(replace(one.containers[0], name="h"),)) for one in endpoint().variants)
    assert (found.variants, found.pending_variants) == (variants, variants)
    database.close()


def test_a_card_agrees_with_its_record(opened: OpenPart) -> None:
    database = opened(RECORDS)
    store = Store(database, clock)
    store.add_endpoint(endpoint())
    store.add_model(ModelRecord("m", "arn:x:model/m", 0.1, (Container("torpor"),), {}))
    store.add_endpoint_config(EndpointConfig("c", "arn:x:endpoint-config/c", 0.2, {}))
    assert store.model_cards() == [Card("m", 0.1, None, None)]
    assert store.endpoint_config_cards() == [Card("c", 0.2, None, None)]
    assert store.endpoint_cards() == [Card("e", 1.1, 1.1, "Creating")]
    store.replace_endpoint(replace(endpoint(), status=S.IN_SERVICE), expected_status=S.CREATING)
    assert store.endpoint_cards() == [Card("e", 1.1, 1000.25, "InService")]
    database.close()


def test_a_variant_of_an_earlier_release_is_no_shadow_variant() -> None:
    database = SqliteFile(":memory:", RECORDS)
    store = Store(database, clock)
    shadowed = replace(endpoint(), variants=tuple(replace(one, shadow=True) for one in endpoint().variants))
    store.add_endpoint(shadowed)
    assert store.endpoint("e") == shadowed
    database.changed("UPDATE endpoints SET record = json_remove(record, '$.variants[0].shadow')")
    assert [one.shadow for one in (store.endpoint("e") or shadowed).variants] == [False, True]
    database.close()


def test_an_acknowledged_write_survives_kill_9(tmp_path: Path) -> None:
    program = """
        import sys, time
        from torpor_endpoint.core.resource_records import EndpointConfig
        from torpor_endpoint.storage.schema import RECORDS
        from torpor_account.storage.databases.sqlite_file import SqliteFile
        from torpor_endpoint.storage.store import Store
        store, number = Store(SqliteFile(sys.argv[1], RECORDS), time.time), 0
        while True:
            store.add_endpoint_config(EndpointConfig(f"c{number}", f"arn:{number}", 1.0, {}))
            print(number, flush=True)
            number += 1
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "db")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        acknowledged = [int(writer.stdout.readline()) for _ in range(20)][-1]
        writer.send_signal(signal.SIGKILL)
    database = SqliteFile(tmp_path / "db", RECORDS)
    assert len(Store(database, clock).endpoint_config_cards()) >= acknowledged + 1
    database.close()


def test_a_name_is_taken_whatever_its_case_and_found_as_written(store: Store) -> None:
    assert store.add_endpoint(endpoint("Houses"))
    assert not store.add_endpoint(endpoint("HOUSES"))
    assert store.endpoint("houses") is None
    found = store.endpoint("Houses")
    assert found is not None
    assert found.name == "Houses"


def test_a_delete_during_an_update_is_not_overwritten(store: Store) -> None:
    store.add_endpoint(endpoint(status=S.UPDATING))
    assert store.replace_endpoint(replace(endpoint(), status=S.DELETING), expected_status=S.UPDATING)
    assert not store.replace_endpoint(replace(endpoint(), status=S.IN_SERVICE), expected_status=S.UPDATING)
    assert [(e.status, e.modified_s) for e in store.endpoints()] == [(S.DELETING, 1000.25)]


def test_an_endpoint_that_took_the_name_since_is_not_overwritten(store: Store) -> None:
    store.add_endpoint(endpoint(created_s=1.1))
    store.remove_endpoint("e")
    store.add_endpoint(endpoint(created_s=2.2))
    late = replace(endpoint(created_s=1.1), status=S.FAILED)
    assert not store.replace_endpoint(late, expected_status=S.CREATING)
    assert store.endpoint("e") == endpoint(created_s=2.2)


def test_exactly_one_of_many_threads_changes_the_status(store: Store) -> None:
    store.add_endpoint(endpoint())
    moved = replace(endpoint(), status=S.IN_SERVICE)
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda _: store.replace_endpoint(moved, expected_status=S.CREATING), range(32)))
    assert won.count(True) == 1


def test_tags_go_with_their_resource(store: Store) -> None:
    store.add_endpoint(endpoint(), {"a": "1", "b": "2"})
    arn = endpoint().arn
    store.tags.put(arn, {"b": "3"})
    store.tags.remove(arn, ["a", "never"])
    assert store.tags.of(arn) == {"b": "3"}
    assert store.has(arn)
    store.remove_endpoint("e")
    assert (store.tags.of(arn), store.has(arn)) == ({}, False)


def test_a_file_of_a_later_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "db") as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(SchemaTooNew, match=rf"version 99.*up to {len(RECORDS.migrations)}"):
        SqliteFile(tmp_path / "db", RECORDS)


@given(st.floats(min_value=0, max_value=4e9))
def test_times_are_stored_exactly(created_s: float) -> None:
    database = SqliteFile(":memory:", RECORDS)
    store = Store(database, clock)
    store.add_endpoint(endpoint(created_s=created_s))
    assert store.endpoint("e") == endpoint(created_s=created_s)
    assert store.replace_endpoint(endpoint(created_s=created_s), expected_status=S.CREATING)
    database.close()

"""Reads a variant's record from `ledger.sqlite`, and decides which of its minutes can be trusted."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from torpor.simulator.fitting.room_of_evictions import MemoryReport
from torpor.simulator.fitting.variant_records import (
    Memory,
    RecordedContainer,
    RecordedLoad,
    RecordedSetup,
    RecordedWarm,
    VariantRecord,
    Whole,
)
from torpor.workloads.trace import BadTrace
from torpor.workloads.trace_formats.ledger_trace import ONE, check_tables, one_variant, unreadable
from torpor_container import typed_json, wire
from torpor_endpoint.core.ledger import ERROR_FROM, MINUTE_S
from torpor_endpoint.core.ledger_records import cold_load
from torpor_endpoint.core.variant_setup import VariantSetup

SINGLES_MAX = 100_000
"""The most single predictions that are read."""


CALLED = f"""SELECT model FROM minutes WHERE {ONE} GROUP BY model HAVING sum(errors) < sum(requests)
    UNION SELECT model FROM cold_starts WHERE {ONE} AND status < {ERROR_FROM}"""
"""The models: a name that only ever got errors is none."""
WHOLE = f"SELECT model, instance, status, steps, cold, effort, {{}} FROM cold_starts WHERE {ONE} ORDER BY number"
PIPELINE = f"""SELECT container FROM containers WHERE {ONE} AND minute_s =
        (SELECT max(minute_s) FROM containers WHERE {ONE}) GROUP BY container ORDER BY min(position)"""
CONTAINERS = f"SELECT model, container, sum(warm), sum(warm_s) FROM containers WHERE {ONE} GROUP BY 1, 2"
STARTS = f"""SELECT ready_s - started_s FROM lives
    WHERE {ONE} AND ready_s IS NOT NULL AND why_started <> 'deployed'"""  # that start makes the zygote too
NEWEST = f"""SELECT size, budget_bytes FROM memory WHERE {ONE} ORDER BY minute_s DESC, looks DESC LIMIT 1"""
MEMORY = f"""SELECT size, budget_bytes,
        CASE WHEN sum(short) THEN sum(short_own_bytes) / sum(short) ELSE sum(own_bytes) / sum(looks) END
    FROM memory WHERE {ONE} AND (size, budget_bytes) = ({NEWEST}) GROUP BY 1, 2"""
"""What an instance took when its memory was full counts: it takes more then, and that is what evicts models."""
OF_CONTAINERS = f"""SELECT container, size, max(budget_bytes),
        CASE WHEN sum(short) THEN sum(short_own_bytes) / sum(short) ELSE sum(own_bytes) / sum(looks) END
    FROM memory WHERE {ONE} AND size = (SELECT size FROM ({NEWEST})) GROUP BY container"""
"""The same for each container of a pipeline."""
SETUP = f"SELECT setup, since_s FROM setups WHERE {ONE}"
ANSWERS = f"SELECT 1.0 * sum(response_bytes) / sum(requests), min(minute_s) FROM minutes WHERE {ONE}"
NEWEST_SIZE = f"SELECT size FROM lives WHERE {ONE} ORDER BY started_s DESC LIMIT 1"
WORKERS = f"SELECT container, workers / told FROM memory WHERE {ONE} AND told > 0 ORDER BY minute_s"
"""The last row of each container counts."""
REPORTS = f"""WITH kept AS (SELECT min(number) AS first, min(at_s) AS since_s FROM cold_starts)
    SELECT instance, model, min(at_s + total_s - coalesce(json_extract(steps, '$.predict'), 0)
        - coalesce(json_extract(steps, '$.overhead'), 0)) AS loaded_s,
        json_extract(cold, '$.left'), json_extract(cold, '$.victims'), json_extract(cold, '$.took_s') AS took_s
    FROM cold_starts, kept
    WHERE {ONE} AND json_extract(cold, '$.left') IS NOT NULL AND json_extract(cold, '$.budget_bytes') = ?
        AND (first = 1 OR instance IN (SELECT instance FROM lives WHERE {ONE} AND started_s > since_s))
    GROUP BY instance, model, took_s ORDER BY loaded_s"""
"""Each load once, of instances none of whose loads has left the ledger."""
HAS_TOLD = "SELECT 1 FROM pragma_table_info('memory') WHERE name = 'told'"
ARTIFACTS = f"""SELECT model, sum(fetched_bytes) / sum(fetches) FROM minutes
    WHERE {ONE} AND fetches > 0 GROUP BY model"""
HAS_FETCHED = "SELECT 1 FROM pragma_table_info('minutes') WHERE name = 'fetches'"
HAS_TABLE = "SELECT 1 FROM sqlite_master WHERE name = ?"
MINUTES = f"""CREATE TEMP TABLE warm AS
    WITH sums AS (
        SELECT minute_s, model, sum(requests) AS requests, sum(cold) AS cold, sum(errors) AS errors,
            sum(total_s - load_s) AS spent_s, sum(predict_s) AS predict_s,
            sum(measured) AS measured, sum(work_s) AS work_s, sum(delay_s) AS delay_s
        FROM minutes WHERE {ONE} GROUP BY minute_s, model
    ), whole AS (
        SELECT CAST(at_s AS INTEGER) / {MINUTE_S} * {MINUTE_S} AS minute_s, model, count(*) AS cold,
            sum(status >= {ERROR_FROM}) AS errors,
            sum(total_s - coalesce(json_extract(steps, '$.load'), 0)) AS spent_s,
            sum(coalesce(json_extract(steps, '$.predict'), 0)) AS predict_s, count(effort) AS measured,
            total(json_extract(effort, '$.work_s')) AS work_s, total(json_extract(effort, '$.delay_s')) AS delay_s
        FROM cold_starts WHERE {ONE} GROUP BY 1, 2
    )
    SELECT sums.model, sums.requests - sums.cold AS requests, sums.spent_s - coalesce(whole.spent_s, 0) AS spent_s,
        sums.predict_s - coalesce(whole.predict_s, 0) AS predict_s,
        sums.measured - coalesce(whole.measured, 0) AS measured,
        sums.work_s - coalesce(whole.work_s, 0) AS work_s, sums.delay_s - coalesce(whole.delay_s, 0) AS delay_s
    FROM sums LEFT JOIN whole USING (minute_s, model)
    WHERE sums.requests > sums.cold AND sums.cold = coalesce(whole.cold, 0)
        AND sums.errors = coalesce(whole.errors, 0)"""
"""The sums of warm, successful requests, for minutes whose cold starts and errors are all known one by one: these are
subtracted."""
DELAYS = f"SELECT model, delay_s / measured FROM warm WHERE measured LIMIT {SINGLES_MAX}"
WARM = """SELECT model, sum(requests), sum(spent_s), sum(predict_s), sum(measured), sum(work_s), sum(delay_s)
    FROM warm GROUP BY model"""
ALONE = f"""SELECT model, CASE WHEN measured THEN work_s ELSE predict_s END FROM warm
    WHERE measured = 1 OR requests = 1 AND NOT EXISTS (SELECT 1 FROM warm WHERE measured) LIMIT {SINGLES_MAX}"""


def read(path: Path, endpoint: str | None, variant: str | None) -> VariantRecord:
    """Read the record as of one moment, also while the endpoint runs. Raises BadTrace."""
    if not path.is_file():
        what = "a folder" if path.is_dir() else "not there"
        raise BadTrace(f"{path} is {what}: name the ledger.sqlite in an endpoint's data folder")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as ledger:
            ledger.execute("PRAGMA temp_store = MEMORY")
            ledger.execute("BEGIN")  # a snapshot: the endpoint may write meanwhile
            check_tables(ledger, path)
            one = one_variant(ledger, path, endpoint, variant)
            called = {model for (model,) in ledger.execute(CALLED, one * 2)}
            piped = _has(ledger, "containers")
            rows = ledger.execute(WHOLE.format("container_s" if piped else "'{}'"), one)
            whole = [
                Whole(
                    model or one[1],
                    instance,
                    status,
                    json.loads(steps),
                    _cold(cold),
                    _effort(effort),
                    json.loads(passed),
                )
                for model, instance, status, steps, cold, effort, passed in rows
            ]
            ledger.execute(MINUTES, one * 2)
            warm = {model or one[1]: RecordedWarm(*sums) for model, *sums in ledger.execute(WARM)}
            delays_s = [(model or one[1], delay_s) for model, delay_s in ledger.execute(DELAYS)]
            alone = [(model or one[1], predict_s) for model, predict_s in ledger.execute(ALONE)]
            pipeline = [name for (name,) in ledger.execute(PIPELINE, one * 2)] if piped else []
            containers = (
                [RecordedContainer(model or one[1], *sums) for model, *sums in ledger.execute(CONTAINERS, one)]
                if pipeline
                else []
            )
            looked = ledger.execute(OF_CONTAINERS, one * 2).fetchall() if pipeline else []
            memory = ledger.execute(MEMORY, one * 2).fetchone() if _has(ledger, "memory") else None
            told = ledger.execute(HAS_TOLD).fetchone() is not None
            workers = dict(ledger.execute(WORKERS, one).fetchall()) if told else {}
            reports = (
                [] if memory is None else [_report(*row) for row in ledger.execute(REPORTS, (*one, memory[1], *one))]
            )
            starts_s = [took_s for (took_s,) in ledger.execute(STARTS, one)]
            setup = ledger.execute(SETUP, one).fetchone() if _has(ledger, "setups") else None
            size = ledger.execute(NEWEST_SIZE, one).fetchone()
            fetched = ledger.execute(ARTIFACTS, one) if ledger.execute(HAS_FETCHED).fetchone() else ()
            artifacts = {model or one[1]: each_bytes for model, each_bytes in fetched}
            response_bytes, first_s = ledger.execute(ANSWERS, one).fetchone()
    except sqlite3.Error as error:
        raise unreadable(path, error) from error
    single_model, seen = one[1] if "" in called else None, None if memory is None else Memory(*memory)
    own_bytes = {container: own for container, _, _, own in looked if container in pipeline}
    if own_bytes:
        seen = Memory(looked[0][1], max(budget_bytes for _, _, budget_bytes, _ in looked), 0)
    return VariantRecord(
        path, *one, frozenset(called - {""}), single_model, whole, warm, delays_s, alone, starts_s, seen,
        pipeline, containers, own_bytes, workers, _setup(setup, first_s), "" if size is None else size[0],
        response_bytes or 0.0, artifacts, reports,
    )  # fmt: skip


def _report(instance: str, model: str, loaded_s: float, left: str, victims: str, took_s: float) -> MemoryReport:
    return MemoryReport(instance, model, tuple(json.loads(left)), tuple(json.loads(victims)))


def _has(ledger: sqlite3.Connection, table: str) -> bool:
    """Whether the ledger has this table: one of an earlier version has not all of them."""
    return ledger.execute(HAS_TABLE, (table,)).fetchone() is not None


def _setup(row: tuple[str, float] | None, first_s: float | None) -> RecordedSetup | None:
    if row is None:
        return None
    earlier = first_s is not None and first_s + MINUTE_S <= row[1]
    return RecordedSetup(typed_json.read(VariantSetup, json.loads(row[0])), earlier)


def _cold(text: str | None) -> RecordedLoad | None:
    cold = cold_load(text)
    if cold is None:
        return None
    return RecordedLoad(
        cold["bytes"],
        cold["took_s"],
        bool(cold["victims"]),
        cold["efforts"],
        cold.get("workers"),
        cold.get("once_s", 0.0),
        cold.get("imports_s", 0.0),
    )


def _effort(text: str | None) -> wire.EffortFields | None:
    return None if text is None else typed_json.read(wire.EffortFields, json.loads(text))

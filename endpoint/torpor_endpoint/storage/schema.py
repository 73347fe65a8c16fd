"""The tables of the endpoint's one database, as migrations from one schema version to the next."""

from pathlib import Path

from torpor_endpoint.storage.record_table import Database


def _records(*tables: str) -> str:
    """Tables for `RecordTable`."""
    row = "(key TEXT PRIMARY KEY, name TEXT NOT NULL, record TEXT NOT NULL)"
    return "".join(f"CREATE TABLE {table} {row};" for table in tables)


def _cards(*tables: str) -> str:
    """The fields of a `Card` as columns generated from the records, with an index of them."""
    steps = []
    for table in tables:
        for column in ("created_s", "modified_s", "status"):
            value = f"json_extract(record, '$.{column}')"
            steps.append(f"ALTER TABLE {table} ADD COLUMN {column} GENERATED ALWAYS AS ({value}) VIRTUAL;")
        steps.append(f"CREATE INDEX {table}_cards ON {table} (name, created_s, modified_s, status);")
    return "".join(steps)


def _plural() -> str:
    """A model and a variant have a list of containers, each with a name."""
    container = "json_extract({record}, '$.container')"
    named = f"json_set({container}, '$.name', coalesce(json_extract({{record}}, '$.container.hostname'), 'primary'))"
    listed = f"json_array(json_remove({named}, '$.hostname'))"
    plural = f"json_remove(json_set({{record}}, '$.containers', {listed}), '$.container')"
    steps = [f"UPDATE models SET record = {plural.format(record='record')};"]
    for member in ("variants", "pending_variants"):
        each = f"SELECT json_group_array(json({plural.format(record='value')})) FROM json_each(record, '$.{member}')"
        where = f"json_type(record, '$.{member}') = 'array'"
        steps.append(f"UPDATE endpoints SET record = json_set(record, '$.{member}', json(({each}))) WHERE {where};")
    return "".join(steps)


MIGRATIONS = (
    f"""
    {_records("models", "endpoint_configs", "endpoints")}
    CREATE TABLE tags (arn TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (arn, key));
    """,
    _records("roles", "scalable_targets", "scaling_policies", "scheduled_actions", "alarms", "training_jobs"),
    _cards("models", "endpoint_configs", "endpoints"),
    _plural(),
    _records("inference_experiments", "endpoints_before"),
    _records("transform_jobs"),
)
"""Only ever add to the end: the number of entries is the schema's version."""


def opened(path: Path | str) -> Database:
    """Open the endpoint's database. Raises `SchemaTooNew` for a file that a later Torpor wrote."""
    return Database(path, MIGRATIONS)

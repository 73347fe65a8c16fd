"""The tables of the endpoint's records, as migrations from one version to the next."""

from torpor_account.storage.databases.database import DatabasePart, Migration


def _records(*tables: str, further: str = "") -> Migration:
    """Tables for `RecordTable`, and further statements."""
    row = "(key TEXT PRIMARY KEY, name TEXT NOT NULL, record TEXT NOT NULL)"
    return Migration("".join(f"CREATE TABLE {table} {row};" for table in tables) + further)


def _cards(*tables: str) -> Migration:
    """The fields of a `Card` as columns generated from the records, with an index of them."""
    columns = {"created_s": "DOUBLE PRECISION", "modified_s": "DOUBLE PRECISION", "status": 'TEXT COLLATE "C"'}
    sqlite, postgresql = [], []
    for table in tables:
        for column, kind in columns.items():
            extracted = f"json_extract(record, '$.{column}')"
            sqlite.append(f"ALTER TABLE {table} ADD COLUMN {column} GENERATED ALWAYS AS ({extracted}) VIRTUAL;")
            cast = f"((record::json ->> '{column}')::{kind.split(' COLLATE')[0]})"
            postgresql.append(f"ALTER TABLE {table} ADD COLUMN {column} {kind} GENERATED ALWAYS AS {cast} STORED;")
        index = f"CREATE INDEX {table}_cards ON {table} (name, created_s, modified_s, status);"
        sqlite.append(index)
        postgresql.append(index)
    return Migration("".join(sqlite), "".join(postgresql))


def _plural() -> Migration:
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
    return Migration("".join(steps), postgresql="")


TAGS = "CREATE TABLE tags (arn TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (arn, key));"

RECORDS = DatabasePart(
    "torpor",
    (
        _records("models", "endpoint_configs", "endpoints", further=TAGS),
        _records("roles", "scalable_targets", "scaling_policies", "scheduled_actions", "alarms", "training_jobs"),
        _cards("models", "endpoint_configs", "endpoints"),
        _plural(),
        _records("inference_experiments", "endpoints_before"),
        _records("transform_jobs"),
        _records("users", "access_keys", "managed_policies", "temporary_keys"),
        _records("user_groups", "page_sessions"),
        _records("role_grants"),
        Migration("CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL);"),
    ),
)

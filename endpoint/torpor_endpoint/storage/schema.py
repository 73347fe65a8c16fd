"""The tables of the endpoint's records, as migrations from one version to the next."""

from torpor_account.storage.account_tables import SECRETS, TAGS, record_tables
from torpor_account.storage.databases.database import DatabasePart, Migration

TRANSFORM_OBJECTS = """
    CREATE TABLE transform_inputs (
        job TEXT NOT NULL, place INTEGER NOT NULL, objects TEXT NOT NULL, PRIMARY KEY (job, place)
    );
    CREATE TABLE transform_done (
        job TEXT NOT NULL, result TEXT NOT NULL, records INTEGER NOT NULL, PRIMARY KEY (job, result)
    );
"""


def _cards(*tables: str, further: tuple[str, ...] = ()) -> Migration:
    """The fields of a `Card`, and these further texts, as columns generated from the records, with an index of them."""
    text = 'TEXT COLLATE "C"'
    columns = {"created_s": "DOUBLE PRECISION", "modified_s": "DOUBLE PRECISION", "status": text}
    columns |= dict.fromkeys(further, text)
    sqlite, postgresql = [], []
    for table in tables:
        for column, kind in columns.items():
            extracted = f"json_extract(record, '$.{column}')"
            sqlite.append(f"ALTER TABLE {table} ADD COLUMN {column} GENERATED ALWAYS AS ({extracted}) VIRTUAL;")
            cast = f"((record::json ->> '{column}')::{kind.split(' COLLATE')[0]})"
            postgresql.append(f"ALTER TABLE {table} ADD COLUMN {column} {kind} GENERATED ALWAYS AS {cast} STORED;")
        index = f"CREATE INDEX {table}_cards ON {table} (name, {', '.join(columns)});"
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


RECORDS = DatabasePart(
    "torpor",
    (
        record_tables("models", "endpoint_configs", "endpoints", further=TAGS),
        record_tables("roles", "scalable_targets", "scaling_policies", "scheduled_actions", "alarms", "training_jobs"),
        _cards("models", "endpoint_configs", "endpoints"),
        _plural(),
        record_tables("inference_experiments", "endpoints_before"),
        record_tables("transform_jobs"),
        record_tables("users", "access_keys", "managed_policies", "temporary_keys"),
        record_tables("user_groups", "page_sessions"),
        record_tables("role_grants"),
        Migration(SECRETS),
        record_tables("components"),
        _cards("components", further=("endpoint_name", "variant_name")),
        Migration("CREATE INDEX components_by_endpoint ON components (endpoint_name);"),
        record_tables("version_labels"),
        record_tables("package_groups", "model_packages"),
        _cards("model_packages", further=("group_name",)),
        Migration("CREATE INDEX packages_by_group ON model_packages (group_name);"),
        record_tables("lineage_entities", "lineage_associations"),
        record_tables("processing_jobs"),
        record_tables("tuning_jobs"),
        record_tables("fed_versions"),
        record_tables("pipelines", "pipeline_executions"),
        record_tables("recommendation_jobs"),
        Migration(TRANSFORM_OBJECTS),
    ),
)

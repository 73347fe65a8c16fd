"""The tables that an account keeps its records in."""

from torpor_account.storage.databases.database import DatabasePart, Migration

TAGS = "CREATE TABLE tags (arn TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (arn, key));"
SECRETS = "CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL);"


def record_tables(*tables: str, further: str = "") -> Migration:
    """Tables for `RecordTable`, and further statements."""
    row = "(key TEXT PRIMARY KEY, name TEXT NOT NULL, record TEXT NOT NULL)"
    return Migration("".join(f"CREATE TABLE {table} {row};" for table in tables) + further)


RECORD_TABLES = (
    *("roles", "users", "user_groups", "access_keys", "managed_policies", "temporary_keys", "role_grants"),
    *("alarms", "page_sessions"),
)

ACCOUNT_TABLES = DatabasePart("account", (record_tables(*RECORD_TABLES, further=TAGS + SECRETS),))
"""For an account alone. With an endpoint around it, the account's tables are in the endpoint's database: the tables of
both came with one version after another."""

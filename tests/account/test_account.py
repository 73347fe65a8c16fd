"""An account works by itself: no module of it needs SageMaker."""

import subprocess
import sys
from pathlib import Path

from torpor_account.storage.account_tables import ACCOUNT_TABLES
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.storage.schema import RECORDS

ALONE = """
import pkgutil, sys
from importlib import import_module

sys.modules["torpor_endpoint"] = None  # whoever imports it fails

import torpor_account

for module in pkgutil.walk_packages(torpor_account.__path__, "torpor_account."):
    import_module(module.name)
"""

A_CALL = """
import asyncio, sys, time
from dataclasses import dataclass
from pathlib import Path

sys.modules["torpor_endpoint"] = None

from torpor_account.account import AccountSurroundings, compose
from torpor_account.aws.wire.scope import Addresses
from torpor_account.gateway import Gateway
from torpor_account.services import SERVICES
from torpor_account.storage.account_tables import ACCOUNT_TABLES


@dataclass(frozen=True)
class Options:
    data_dir: Path
    account: str = "123456789012"
    region: str = "eu-west-1"
    database: None = None
    standby: bool = False
    s3_endpoint: None = None
    auth: bool = True
    rate_limits: tuple = ()


async def asked(gateway, method, path, body=b"", *headers):
    sent = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
             "headers": [(b"host", b"localhost"), *headers], "scheme": "http"}
    await gateway(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


async def story(account):
    addresses = Addresses(service.address for service in SERVICES)
    gateway = Gateway(account.services(), None, account.number, addresses)
    form = (b"content-type", b"application/x-www-form-urlencoded")
    bucket, _ = await asked(gateway, "PUT", "/shelf")
    key, _ = await asked(gateway, "PUT", "/shelf/book", b"words", (b"content-length", b"5"))
    print(bucket, key)
    print(await asked(gateway, "GET", "/shelf/book"))
    status, roles = await asked(gateway, "POST", "/", b"Action=ListRoles&Version=2010-05-08", form)
    print(status, b"TorporRole" in roles)


account = compose(Options(Path(sys.argv[1])), AccountSurroundings(ACCOUNT_TABLES, time.time))
asyncio.run(story(account))
account.close()
"""


def run(program: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_of_the_account_is_imported_without_the_endpoint() -> None:
    run(ALONE)


def test_an_account_alone_answers_s3_and_iam(tmp_path: Path) -> None:
    assert run(A_CALL, str(tmp_path)).splitlines() == ["200 200", "(200, b'words')", "200 True"]


def test_the_endpoint_s_database_has_the_account_s_tables(tmp_path: Path) -> None:
    """With the same columns, and any that were added since."""
    columns = {}
    for part in (ACCOUNT_TABLES, RECORDS):
        database = SqliteFile(tmp_path / part.name, part)
        named = database.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
        columns[part.name] = {
            table: [row[1] for row in database.rows(f"PRAGMA table_info({table})")] for (table,) in named
        }
        database.close()
    of_account, of_endpoint = columns.values()
    assert {table: of_endpoint[table][: len(names)] for table, names in of_account.items()} == of_account

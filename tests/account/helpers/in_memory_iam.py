"""IAM over a database in memory, called through boto3 without a port."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torpor_account.aws.calls import Otherwise
from torpor_account.aws.in_process import client
from torpor_account.iam.context import Iam
from torpor_account.iam.service import service as iam_service
from torpor_account.storage.account_tables import ACCOUNT_TABLES
from torpor_account.storage.databases.database import Database
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_account.storage.tag_store import Tags

ACCOUNT = "210987654321"
NOW_S = 1_770_000_000.0


def trust(service: str = "sagemaker.amazonaws.com", **members: Any) -> str:
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole", **members}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def permissions(**members: Any) -> str:
    statement = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*", **members}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def iam_over(database: Database, otherwise: Otherwise | None = None) -> Any:
    context = Iam(database, Tags(database), lambda: NOW_S)
    return client(iam_service(context, account=ACCOUNT, otherwise=otherwise))


@contextmanager
def database(path: Any = ":memory:") -> Iterator[Database]:
    found = SqliteFile(path, ACCOUNT_TABLES)
    try:
        yield found
    finally:
        found.close()

from collections.abc import Iterator
from typing import Any

import pytest

from tests.account.helpers.in_memory_iam import database, iam_over, trust
from torpor_account.storage.databases.database import Database


@pytest.fixture(scope="session")
def iam_database() -> Iterator[Database]:
    with database() as found:
        yield found


@pytest.fixture(scope="session")
def iam_client(iam_database: Database) -> Any:
    return iam_over(iam_database)


@pytest.fixture
def iam(iam_client: Any, iam_database: Database) -> Any:
    """A boto3 client, and of roles only `reader` and the one that is always there."""
    iam_database.changed("DELETE FROM roles WHERE name != 'TorporRole'")
    iam_database.changed("DELETE FROM tags")
    iam_client.create_role(RoleName="reader", AssumeRolePolicyDocument=trust())
    return iam_client

"""What an execution role may read, list and write: its own policies decide, and the bucket's."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.account.helpers.in_memory_iam import ACCOUNT, NOW_S, database, trust
from torpor_account.aws.errors import AwsError
from torpor_account.core.access.policy_statements import read_policy
from torpor_account.iam.context import Iam
from torpor_account.iam.execution.execution_roles import ExecutionRoles
from torpor_account.iam.identities.directory import Directory
from torpor_account.iam.identities.ids import KeyPair
from torpor_account.iam.identity_records import Role
from torpor_account.s3.access.as_role import BucketRules, acting_as
from torpor_account.s3.access.embedded import EmbeddedStorage, NotStored, Storage
from torpor_account.s3.object_store import ObjectStore
from torpor_account.storage.tag_store import Tags
from torpor_endpoint.core.resource_records import Container, ModelRecord
from torpor_endpoint.services.sagemaker.model_data import ModelDataAccess

READER = f"arn:aws:iam::{ACCOUNT}:role/reader"
JOB = f"arn:aws:sagemaker:us-east-1:{ACCOUNT}:training-job/j"
OWN = "arn:aws:s3:::ours"


def roles(iam: Iam, *statements: dict[str, Any]) -> ExecutionRoles:
    document = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **one} for one in statements]})
    iam.roles.put(Role("reader", "AROA", 0.0, trust(), policies={"own": document} if statements else {}))
    return ExecutionRoles(Directory(iam, ACCOUNT, KeyPair("A", "root")), ACCOUNT, "us-east-1", lambda: NOW_S)


@pytest.fixture
def iam() -> Iterator[Iam]:
    with database() as found:
        yield Iam(found, Tags(found), lambda: NOW_S)


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[EmbeddedStorage]:
    objects = ObjectStore(tmp_path / "s3")
    objects.buckets.create("ours")
    storage = EmbeddedStorage(objects)
    storage.write(b"x", "ours", "in/a")
    yield storage
    objects.close()


def acts(storage: Storage, tmp_path: Path) -> dict[str, Callable[[], object]]:
    """Each thing that a job does, by the right that it needs."""
    file = tmp_path / "file"
    file.write_bytes(b"y")
    return {
        "keys": lambda: storage.keys("ours", "in/"),
        "head": lambda: storage.head("ours", "in/a"),
        "fetch": lambda: storage.fetch("ours", "in/a", tmp_path / "copy"),
        "opened": lambda: storage.opened("ours", "in/a", tmp_path / "copy").close(),
        "put": lambda: storage.put(file, "ours", "out/b"),
        "write": lambda: storage.write(b"y", "ours", "out/b"),
        "check_writable": lambda: storage.check_writable("ours", "out/b"),
        "check": lambda: storage.check("ours"),
    }


def allowed(storage: Storage, tmp_path: Path) -> set[str]:
    found = set()
    for name, act in acts(storage, tmp_path).items():
        try:
            act()
            found.add(name)
        except NotStored as refused:
            assert "(AccessDenied: User: " in str(refused)  # noqa: PT017  which of many is refused is what is asked
    return found


GETS, WRITES = {"head", "fetch", "opened"}, {"put", "write", "check_writable"}


NO_POLICY = BucketRules(lambda bucket: None)


@pytest.mark.parametrize(
    ("statements", "may"),
    [
        ([], set()),
        ([{"Action": "s3:GetObject", "Resource": f"{OWN}/in/*"}], GETS),
        ([{"Action": "s3:PutObject", "Resource": f"{OWN}/out/*"}], WRITES),
        ([{"Action": "s3:PutObject", "Resource": f"{OWN}/in/*"}], set()),
        ([{"Action": "s3:ListBucket", "Resource": OWN, "Condition": {"StringLike": {"s3:prefix": "in/*"}}}], {"keys"}),
        ([{"Action": "s3:ListBucket", "Resource": OWN, "Condition": {"StringLike": {"s3:prefix": "x/*"}}}], set()),
        ([{"Action": "s3:*", "Resource": "*"}], GETS | WRITES | {"keys"}),
    ],
)
def test_each_act_needs_its_right(
    iam: Iam, plain: EmbeddedStorage, tmp_path: Path, statements: list[dict[str, Any]], may: set[str]
) -> None:
    as_role = acting_as(roles(iam, *statements), NO_POLICY)
    assert allowed(as_role(plain, READER, JOB), tmp_path) == {*may, "check"}


@pytest.mark.parametrize(("effect", "may"), [("Allow", GETS), ("Deny", WRITES)])
def test_the_bucket_s_policy_has_a_say(
    iam: Iam, plain: EmbeddedStorage, tmp_path: Path, effect: str, may: set[str]
) -> None:
    """It lets a role in that has no policy, and keeps one out that may do everything."""
    statement = {"Effect": effect, "Principal": {"AWS": READER}, "Action": "s3:GetObject", "Resource": f"{OWN}/*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": statement})
    own = [] if effect == "Allow" else [{"Action": ["s3:GetObject", "s3:PutObject"], "Resource": "*"}]
    policy = read_policy(document, "the bucket's policy", kind="resource")
    assert allowed(acting_as(roles(iam, *own), BucketRules(lambda bucket: policy))(plain, READER, JOB), tmp_path) == {
        *may,
        "check",
    }


@pytest.mark.parametrize(
    ("tags", "may"), [({"Owner": "b"}, WRITES), ({"owner": "a"}, GETS | WRITES), ({}, GETS | WRITES)]
)
def test_a_role_is_kept_from_objects_by_their_tags(
    iam: Iam, plain: EmbeddedStorage, tmp_path: Path, tags: dict[str, str], may: set[str]
) -> None:
    everything = {"Action": ["s3:GetObject", "s3:PutObject"], "Resource": "*"}
    of_b = {"Effect": "Deny", **everything, "Condition": {"StringEquals": {"s3:ExistingObjectTag/owner": "b"}}}
    rules = BucketRules(lambda bucket: None, lambda bucket, key: tags)
    assert allowed(acting_as(roles(iam, everything, of_b), rules)(plain, READER, JOB), tmp_path) == {*may, "check"}


def test_a_role_that_cannot_be_assumed_may_nothing(iam: Iam, plain: EmbeddedStorage) -> None:
    storage = acting_as(roles(iam), NO_POLICY)(plain, f"{READER}s", JOB)
    with pytest.raises(NotStored, match=r"s3://ours/in/a \(AccessDenied: The execution role ARN"):
        storage.head("ours", "in/a")


@pytest.mark.parametrize(
    ("container", "needs"),
    [
        (Container("torpor", "s3://ours/m.tar.gz"), ("s3:GetObject", f"{OWN}/m.tar.gz")),
        (Container("torpor", "s3://ours/many/", multi_model=True), ("s3:ListBucket", OWN)),
        (Container("torpor", "s3://ours/files/", compressed=False), ("s3:ListBucket", OWN)),
        (Container("torpor", "s3://ours/file", compressed=False), ("s3:GetObject", f"{OWN}/file")),
    ],
)
def test_a_model_is_refused_whose_role_may_not_read_its_data(
    iam: Iam, container: Container, needs: tuple[str, str]
) -> None:
    model = ModelRecord("m", JOB, NOW_S, (Container("torpor"), Container(**{**vars(container), "role": READER})), {})
    with pytest.raises(AwsError, match=rf'Could not access model data at {container.model_data_url}\. .*"{READER}"'):
        ModelDataAccess(roles(iam), NO_POLICY).check(model)
    action, resource = needs
    ModelDataAccess(roles(iam, {"Action": action, "Resource": resource}), NO_POLICY).check(model)


def test_a_job_s_role_must_be_assumable(iam: Iam) -> None:
    found = ModelDataAccess(roles(iam), NO_POLICY)
    found.check_assumed(READER, JOB)
    with pytest.raises(AwsError, match=rf"Could not assume role {READER}s\. Please ensure that the role exists"):
        found.check_assumed(f"{READER}s", JOB)

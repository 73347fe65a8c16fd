"""The operations on the access keys of users. A secret is shown once, when its key is made."""

from dataclasses import replace
from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.iam import errors, shapes
from torpor_account.iam.context import Iam
from torpor_account.iam.identities.ids import new_access_key, new_secret
from torpor_account.iam.identities.users import named
from torpor_account.iam.identity_records import AccessKey
from torpor_account.iam.markers import page

KEYS_MAX = 2


def create_access_key(iam: Iam, call: Call) -> dict[str, Any]:
    name = named(call)
    with iam.together():
        iam.user(name)
        if sum(key.user == name for key in iam.keys.all()) >= KEYS_MAX:
            raise errors.QUOTA(what="AccessKeysPerUser", limit=KEYS_MAX)
        key = AccessKey(new_access_key(), name, iam.clock(), new_secret())
        iam.keys.put(key)
    return {"AccessKey": {**shapes.listed_key(key), "SecretAccessKey": key.secret}}


def list_access_keys(iam: Iam, call: Call) -> dict[str, Any]:
    user = iam.user(named(call)).name
    keys, more = page((key for key in iam.keys.all() if key.user == user), lambda key: key.name, call.params)
    return {"AccessKeyMetadata": list(map(shapes.listed_key, keys)), **more}


def update_access_key(iam: Iam, call: Call) -> dict[str, Any]:
    active = call.params["Status"] == "Active"
    with iam.together():
        iam.keys.put(replace(_key(iam, call), active=active))
    return {}


def delete_access_key(iam: Iam, call: Call) -> dict[str, Any]:
    with iam.together():
        iam.keys.remove(_key(iam, call).name)
    return {}


def _key(iam: Iam, call: Call) -> AccessKey:
    key = iam.keys.get(call.params["AccessKeyId"])
    if key is None or key.user != iam.user(named(call)).name:
        raise errors.NO_KEY(name=call.params["AccessKeyId"])
    return key

"""What an S3 operation gets: the request, the store, and the store's account and region."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final

from torpor_account.core.access.policy_statements import AccessPolicy
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.object_store import ObjectStore
from torpor_account.s3.storage.entries import ObjectName
from torpor_account.s3.wire.http_exchange import S3Answer, S3Request
from torpor_account.s3.wire.xml_elements import node, text

_INTEGER_MAX: Final = 2**31 - 1
_NEGATIVE: Final = re.compile(r"-\d{1,10}", re.ASCII)


IdsNamed = Callable[[AccessPolicy], Mapping[str, str]]
"""Finds the unique ids of the users and roles that a policy names, by ARN. Raises BadPolicy for an unknown one."""


def nobody_named(policy: AccessPolicy) -> Mapping[str, str]:
    """Of a store without users: all names are as good."""
    return {}


@dataclass(frozen=True)
class StoreSite:
    """The account that owns the store with its users, and the region that answers name."""

    account: str
    region: str
    ids_named: IdsNamed = nobody_named

    @property
    def owner_id(self) -> str:
        return sha256(self.account.encode()).hexdigest()

    def owner(self, element: str = "Owner") -> str:
        return node(element, text("ID", self.owner_id), text("DisplayName", self.account))


@dataclass(frozen=True)
class S3Call:
    store: ObjectStore
    site: StoreSite
    request: S3Request

    @property
    def bucket(self) -> str:
        return self.request.address.bucket or ""

    @property
    def name(self) -> ObjectName:
        return ObjectName(self.bucket, self.request.address.key or "")

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query

    @property
    def headers(self) -> Mapping[str, str]:
        return self.request.headers

    def count(self, name: str, default: int, most: int) -> int:
        """A number in the query. As S3 does, it reduces a large number to `most`, and refuses a malformed one."""
        value = self.query.get(name, "")
        if not value:
            return default
        if not (value.isascii() and value.isdecimal() and len(value) <= 10 and int(value) <= _INTEGER_MAX):
            message = f"Provided {name} not an integer or within integer range"
            if _NEGATIVE.fullmatch(value):
                message = f"Argument {name} must be an integer between 0 and {_INTEGER_MAX}"
            raise S3Error(Refusal.InvalidArgument, message, ArgumentName=name, ArgumentValue=value)
        return min(int(value), most)


Operation = Callable[[S3Call], Awaitable[S3Answer]]


def moment(at_s: float) -> str:
    """A time in the form of S3's documents: in whole seconds, as in the header Last-Modified."""
    return datetime.fromtimestamp(int(at_s), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def xml(body: bytes) -> S3Answer:
    return S3Answer(headers={"content-type": "application/xml"}, body=body)

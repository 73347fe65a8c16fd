"""Where a router's captured data goes, and by whose keys."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from torpor_account.s3.access.embedded import StorageError
from torpor_account.s3.access.remote import RemoteStorage
from torpor_endpoint.core.capture import LineEncoder
from torpor_endpoint.core.resource_records import DataCapture
from torpor_endpoint.routing.protocol.facts import ControlFacts
from torpor_endpoint.routing.protocol.role_keys import RoleKeys
from torpor_endpoint.routing.router.capture_stores import RENEWED_S, CaptureStores
from torpor_endpoint.routing.router.control_client import ControlAway, ControlClient
from torpor_endpoint.runtime.capture.files import CaptureFile

FACTS = ControlFacts("us-east-1", "123456789012", strict=False, auth=True, storage="", sockets="", rate_limits=())
HOUR_S = 3600.0


def file(endpoint: str = "shop", role: str = "arn:aws:iam::123456789012:role/writer") -> CaptureFile:
    return CaptureFile("results", "key", endpoint, "v", 0.0, LineEncoder(DataCapture("s3://results", 100)), role)


class LendingControl(ControlClient):
    """A control that gives a new key each time, which holds for an hour; `away` is why it does not."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__("http://127.0.0.1:1")
        self.asked: list[tuple[str, str]] = []
        self.away: str | None = None
        self._clock = clock

    def role_keys(self, endpoint: str, role: str) -> RoleKeys:
        if self.away is not None:
            raise ControlAway(self.away)
        self.asked.append((endpoint, role))
        return RoleKeys(f"key-{len(self.asked)}", "secret", "token", self._clock() + HOUR_S)


class KeyedStores:
    """Stands in for S3: notes who writes, and refuses the keys in `void`."""

    def __init__(self) -> None:
        self.wrote: list[tuple[str, str | None]] = []
        self.void: set[str] = set()

    def at(self, url: str, region: str, keys: Any = None, trusted: str | None = None) -> Any:
        stores, key = self, keys and keys[0]

        class Store:
            def write(self, body: bytes, bucket: str, key_of_object: str) -> None:
                if key in stores.void:
                    raise StorageError("the key is void")
                stores.wrote.append((url, key))

        return Store()


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> KeyedStores:
    stores = KeyedStores()
    monkeypatch.setattr(RemoteStorage, "at", stores.at)
    return stores


def test_keys_of_a_role_are_used_until_they_soon_expire(s3: KeyedStores) -> None:
    now_s = [0.0]
    control = LendingControl(lambda: now_s[0])
    stores = CaptureStores(FACTS, control, lambda: now_s[0])
    for at_s in (0.0, HOUR_S - RENEWED_S, HOUR_S - RENEWED_S + 1):
        now_s[0] = at_s
        stores.of(file()).write(b"", "results", "key")
    stores.of(file("other")).write(b"", "results", "key")
    assert [key for _, key in s3.wrote] == ["key-1", "key-1", "key-2", "key-3"]
    assert [endpoint for endpoint, _ in control.asked] == ["shop", "shop", "other"]


def test_keys_that_a_control_has_voided_are_replaced_by_the_next_try(s3: KeyedStores) -> None:
    control = LendingControl(lambda: 0.0)
    stores = CaptureStores(FACTS, control, lambda: 0.0)
    stores.of(file()).write(b"", "results", "key")
    s3.void.add("key-1")
    with pytest.raises(StorageError, match="void"):
        stores.of(file()).write(b"", "results", "key")
    control.away = "it starts"
    with pytest.raises(StorageError, match="it starts"):
        stores.of(file()).write(b"", "results", "key")
    control.away = None
    stores.of(file()).write(b"", "results", "key")
    assert [key for _, key in s3.wrote] == ["key-1", "key-2"]


def test_another_s3_is_written_by_the_keys_of_the_environment(s3: KeyedStores) -> None:
    control = LendingControl(lambda: 0.0)
    facts = replace(FACTS, storage="https://s3.example.com")
    CaptureStores(facts, control, lambda: 0.0).of(file()).write(b"", "results", "key")
    assert (s3.wrote, control.asked) == ([("https://s3.example.com", None)], [])


def test_the_store_of_a_control_that_verifies_nobody_needs_no_keys(
    live: LiveEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    results = live.folder("results-of-routers")
    stores = CaptureStores(replace(FACTS, auth=False), ControlClient(live.url), lambda: 0.0)
    stores.of(file()).write(b"captured", "results-of-routers", "a/b.jsonl")
    assert (results / "a" / "b.jsonl").read_bytes() == b"captured"

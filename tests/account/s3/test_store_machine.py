"""A store used through its API and by hand at once, held against a dictionary."""

import os
import shutil
import tempfile
import time
from hashlib import md5
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.helpers.example_counts import tries
from torpor_account.s3.errors import S3Error
from torpor_account.s3.object_store import ObjectStore
from torpor_account.s3.storage.entries import ObjectName, ObjectTraits
from torpor_account.s3.storage.key_pages import KeyQuery
from torpor_account.s3.storage.objects import Draft
from torpor_container.artifacts.object_keys import ordinary

KEYS = st.sampled_from(["a", "a/b", "a/b/c", "d/e", "d/", "/d", "d//e", "x", "x/y/z", "x/y", "..", ".torpor/objects/q"])
BODIES = st.binary(max_size=3)


class StoreMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        ticks = count()
        self.clock = lambda: float(next(ticks))
        self.store = ObjectStore(self.root, clock=self.clock)
        self.store.buckets.create("bucket")
        self.moments_ns = count(time.time_ns(), 1_000)
        self.expected: dict[str, bytes] = {}

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.root)

    @rule(key=KEYS, body=BODIES)
    def put(self, key: str, body: bytes) -> None:
        staged = self.store.staging.new()
        staged.write(body)
        traits = ObjectTraits(headers={"x-amz-meta-by": "api"})
        self.store.objects.put(ObjectName("bucket", key), Draft(staged, md5(body).hexdigest(), traits))
        self.expected[key] = body

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        self.store.objects.delete(ObjectName("bucket", key))
        self.expected.pop(key, None)

    @rule(key=KEYS, body=BODIES)
    def copy_in_by_hand(self, key: str, body: bytes) -> None:
        path = self.root / "bucket" / key
        if not ordinary(key) or path.is_dir() or any(above.is_file() for above in path.parents):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        os.utime(path, ns=(0, next(self.moments_ns)))  # however coarse the clock that the kernel gives files
        self.expected[key] = body

    @rule(key=KEYS)
    def remove_by_hand(self, key: str) -> None:
        path = self.root / "bucket" / key
        if ordinary(key) and path.is_file():
            path.unlink()
            del self.expected[key]

    @rule(folder=st.sampled_from(["a", "x", "d"]))
    def remove_a_folder_by_hand(self, folder: str) -> None:
        path = self.root / "bucket" / folder
        if path.is_dir():
            gone = {str(file.relative_to(self.root / "bucket")) for file in path.rglob("*") if file.is_file()}
            self.expected = {key: body for key, body in self.expected.items() if key not in gone}
            shutil.rmtree(path)

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.store = ObjectStore(self.root, clock=self.clock)

    @rule(key=KEYS)
    def read(self, key: str) -> None:
        name = ObjectName("bucket", key)
        if key not in self.expected:
            with pytest.raises(S3Error, match="does not exist"):
                self.store.objects.open(name)
            return
        opened = self.store.objects.open(name)
        with opened.file:
            body = opened.file.read()
        assert body == self.expected[key]
        assert opened.entry.etag == md5(body).hexdigest()

    @rule(delimiter=st.sampled_from(["", "/"]), prefix=st.sampled_from(["", "a/", "x", "x/y"]))
    def list_some(self, delimiter: str, prefix: str) -> None:
        query = KeyQuery(prefix, delimiter)
        matching = [key for key in sorted(self.expected) if key.startswith(prefix)]
        found = self.store.listing.page("bucket", query)
        assert [entry.key for entry in found.items] == [key for key in matching if query.group(key) is None]
        assert set(found.prefixes) == {group for key in matching if (group := query.group(key))}

    @invariant()
    def every_object_is_listed_with_its_etag(self) -> None:
        listed = {entry.key: entry.etag for entry in self.store.listing.page("bucket", KeyQuery()).items}
        assert listed == {key: md5(body).hexdigest() for key, body in self.expected.items()}


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(max_examples=tries(12), stateful_step_count=25, deadline=None)

"""The object store: a folder of buckets, its index, and the operations on buckets, objects, listings and uploads.

It is synchronous and thread-safe. A root folder belongs to one process at a time.
"""

import time
from collections.abc import Callable
from pathlib import Path

from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.storage.buckets import Buckets
from torpor_account.s3.storage.index import Index
from torpor_account.s3.storage.key_pages import KeyQuery
from torpor_account.s3.storage.object_listing import ObjectListing
from torpor_account.s3.storage.objects import ObjectChanged, Objects
from torpor_account.s3.storage.staging import Staging
from torpor_account.s3.storage.tree import Tree
from torpor_account.s3.storage.uploads import Uploads
from torpor_container.artifacts.object_keys import RESERVED


class ObjectStore:
    """Opens the store, and recovers it if its last process was killed. `clock` gives epoch seconds."""

    def __init__(self, root: Path, *, clock: Callable[[], float] = time.time) -> None:
        root.mkdir(parents=True, exist_ok=True)
        root = root.resolve()
        self.staging = Staging(root / RESERVED / "tmp")
        self._index = Index(root / RESERVED / "index.sqlite")
        tree = Tree(root)
        self.clock = clock
        self.objects = Objects(self._index, tree, clock)
        self.listing = ObjectListing(self._index, tree, self.objects.head)
        self.uploads = Uploads(self._index, self.staging, self.objects, clock)
        self.buckets = Buckets(root, self._index, self.uploads, clock)
        self.objects.recover()
        tree.sweep()
        self.staging.sweep(keep=self.uploads.files())

    def close(self) -> None:
        self._index.close()

    def watch(self, changed: ObjectChanged) -> None:
        """Tell of each object that is written or deleted here from now on."""
        self.objects.changed = changed

    def delete_bucket(self, name: str) -> None:
        """Delete an empty bucket. Raises NoSuchBucket and BucketNotEmpty."""
        self.buckets.get(name)
        with self._index.alone():
            if self.listing.page(name, KeyQuery(limit=1)).items:
                raise S3Error(Refusal.BucketNotEmpty, BucketName=name)
            self.buckets.delete(name)

"""S3's objects and listing over one folder tree, without a server; a test may watch or change what they read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import md5
from pathlib import Path

from torpor_account.s3.storage.entries import ObjectEntry, ObjectName, ObjectTraits
from torpor_account.s3.storage.index import Index
from torpor_account.s3.storage.key_pages import KeyQuery
from torpor_account.s3.storage.object_listing import ObjectListing
from torpor_account.s3.storage.objects import Draft, Objects
from torpor_account.s3.storage.staging import Staging
from torpor_account.s3.storage.tree import Survey, Tree


class WatchedTree(Tree):
    """Remembers which folders were read."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.read: list[str] = []

    def survey(self, bucket: str, path: str) -> Survey | None:
        self.read.append(path)
        return super().survey(bucket, path)


class StoreWithoutServer:
    """One bucket. `staging` is where a new object is written first."""

    def __init__(self, root: Path, index: Index, tree: Tree, staging: Path | None = None) -> None:
        self.folder = root / "bucket"
        self.tree = tree
        self.staging = Staging(staging or root / ".torpor" / "tmp")
        self.objects = Objects(index, tree, lambda: 0.0)
        self._listing = ObjectListing(index, tree, self.objects.head)

    def put(self, key: str, body: bytes = b"") -> ObjectEntry:
        staged = self.staging.new()
        staged.write(body)
        return self.objects.put(ObjectName("bucket", key), Draft(staged, md5(body).hexdigest(), ObjectTraits()))

    def delete(self, key: str) -> None:
        self.objects.delete(ObjectName("bucket", key))

    def read(self, key: str) -> bytes:
        opened = self.objects.open(ObjectName("bucket", key))
        with opened.file:
            return opened.file.read()

    def listed(self, prefix: str = "") -> list[str]:
        return [entry.key for entry in self._listing.page("bucket", KeyQuery(prefix)).items]


@contextmanager
def store_without_server(
    root: Path, tree: Callable[[Path], Tree] = Tree, staging: Path | None = None
) -> Iterator[StoreWithoutServer]:
    (root / "bucket").mkdir(exist_ok=True)
    (root / ".torpor").mkdir(exist_ok=True)
    index = Index(root / ".torpor" / "index.sqlite")
    try:
        yield StoreWithoutServer(root, index, tree(root), staging)
    finally:
        index.close()

"""Begins multipart uploads, adds their parts, and completes or aborts them.

A part stays in its staged file; its row makes it a part. So a staged file without a row is garbage.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Final

from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.storage.entries import ObjectEntry, ObjectName, ObjectTraits, dumped, loaded
from torpor_account.s3.storage.index import Index
from torpor_account.s3.storage.key_pages import KeyPage, KeyQuery, page
from torpor_account.s3.storage.objects import Draft, Objects
from torpor_account.s3.storage.staging import Staged, Staging
from torpor_account.s3.storage.upload_parts import UploadedPart, whole_checksum, whole_etag
from torpor_account.s3.wire.checksums import DEFAULT, FULL_OBJECT, Checksum
from torpor_account.s3.wire.preconditions import Conditions
from torpor_container.frozen_class import frozen

_COLUMNS: Final = "id, bucket, key, started_s, traits, algorithm, kind"
_PART_COLUMNS: Final = "number, file, size, etag, checksum, modified_s"


@frozen
class Upload:
    """One upload. `algorithm` and `kind` are those of the checksum that its caller requested.

    AWS lists the uploads of one key in the order of their beginning: the ids sort in this order.
    """

    id: str
    name: ObjectName
    started_s: float
    traits: ObjectTraits
    algorithm: str | None = None
    kind: str | None = None

    @property
    def key(self) -> str:
        return self.name.key

    @property
    def part_algorithm(self) -> str:
        return self.algorithm or DEFAULT

    def checksum(self, parts: Sequence[UploadedPart]) -> Checksum | None:
        """The whole object's checksum, if every part has one of the right kind."""
        return whole_checksum(self.part_algorithm, self.kind or FULL_OBJECT, parts)


class Uploads:
    def __init__(self, index: Index, staging: Staging, objects: Objects, clock: Callable[[], float]) -> None:
        self._index = index
        self._staging = staging
        self._objects = objects
        self._clock = clock

    def begin(self, name: ObjectName, traits: ObjectTraits, algorithm: str | None, kind: str | None) -> Upload:
        now_s = self._clock()
        upload_id = f"{round(now_s * 1e6):014x}{secrets.token_urlsafe(24)}"
        upload = Upload(upload_id, name, now_s, traits, algorithm, kind)
        row = (upload.id, *name, upload.started_s, dumped(traits), algorithm, kind)
        with self._index.writing() as rows:
            rows.execute(f"INSERT INTO uploads ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        return upload

    def get(self, name: ObjectName, upload_id: str) -> Upload:
        """The upload of this id. Raises NoSuchUpload."""
        with self._index.reading() as rows:
            query = f"SELECT {_COLUMNS} FROM uploads WHERE id = ? AND bucket = ? AND key = ?"
            row = rows.execute(query, (upload_id, *name)).fetchone()
        if row is None:
            raise S3Error(Refusal.NoSuchUpload, UploadId=upload_id)
        return _upload(row)

    def add(self, upload: Upload, part: UploadedPart, staged: Staged) -> None:
        """Add a part, or replace the earlier one of its number."""
        staged.seal()
        row = (upload.id, part.number, part.file, part.size_bytes, part.etag, part.checksum, part.modified_s)
        with self._index.alone():
            self.get(upload.name, upload.id)  # another call may have completed or aborted it meanwhile
            earlier = self.parts(upload, part.number - 1, 1)
            with self._index.writing() as rows:
                rows.execute("INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        self._discard([other for other in earlier if other.number == part.number])

    def parts(self, upload: Upload, after: int = 0, limit: int = -1) -> list[UploadedPart]:
        query = f"SELECT {_PART_COLUMNS} FROM parts WHERE upload = ? AND number > ? ORDER BY number LIMIT ?"
        with self._index.reading() as rows:
            return [UploadedPart(*row) for row in rows.execute(query, (upload.id, after, limit))]

    def page(self, bucket: str, query: KeyQuery, after_id: str = "") -> KeyPage[Upload]:
        """The uploads in progress, by key and beginning. With `after_id` the page starts after this upload of the key
        `query.after`."""
        more = "bucket = ? AND (key >= ? OR (key = ? AND id > ?)) ORDER BY key, id"
        with self._index.reading() as rows:

            def read(start: str) -> Iterator[Upload]:
                resumed = query.after if after_id and start == query.after + "\0" else start
                values = (bucket, start, resumed, after_id)
                with closing(rows.execute(f"SELECT {_COLUMNS} FROM uploads WHERE {more}", values)) as cursor:
                    yield from map(_upload, cursor)

            return page(query, read)

    def complete(self, upload: Upload, parts: list[UploadedPart], preconditions: Conditions) -> ObjectEntry:
        """Join `parts` to the object. If the process is killed meanwhile, the upload stays as it was."""
        staged = self._staging.new()
        try:
            for part in parts:
                staged.append(self._staging.path(part.file))
            sizes = tuple(part.size_bytes for part in parts)
            traits = replace(upload.traits, checksum=upload.checksum(parts), parts=sizes)
            etag = whole_etag([part.etag for part in parts])
            entry = self._objects.put(upload.name, Draft(staged, etag, traits), preconditions)
        except FileNotFoundError as gone:  # another call has completed or aborted it meanwhile
            raise S3Error(Refusal.NoSuchUpload, UploadId=upload.id) from gone
        finally:
            staged.discard()
        self.abort(upload)
        return entry

    def abort(self, upload: Upload) -> None:
        """Remove the upload and its parts."""
        with self._index.alone():
            parts = self.parts(upload)
            with self._index.writing() as rows:
                rows.execute("DELETE FROM parts WHERE upload = ?", (upload.id,))
                rows.execute("DELETE FROM uploads WHERE id = ?", (upload.id,))
        self._discard(parts)

    def abort_all(self, bucket: str) -> None:
        """Remove every upload to a bucket."""
        with self._index.reading() as rows:
            uploads = rows.execute(f"SELECT {_COLUMNS} FROM uploads WHERE bucket = ?", (bucket,)).fetchall()
        for row in uploads:
            self.abort(_upload(row))

    def files(self) -> set[str]:
        """The staged files that are parts."""
        with self._index.reading() as rows:
            return {file for (file,) in rows.execute("SELECT file FROM parts")}

    def _discard(self, parts: list[UploadedPart]) -> None:
        for part in parts:
            self._staging.path(part.file).unlink(missing_ok=True)


def _upload(row: tuple[Any, ...]) -> Upload:
    upload_id, bucket, key, started_s, traits, algorithm, kind = row
    return Upload(upload_id, ObjectName(bucket, key), started_s, loaded(traits), algorithm, kind)

"""Reads S3 with any key, unchanged, and lists keys: by boto3, which is slow to import. All calls block.

obstore's paths have no empty segments and no slash at either end, which are legal in S3's keys.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from torpor_container.artifacts.errors import ArtifactForbidden, ArtifactMissing, DownloadBroken, StoreUnreachable
from torpor_container.artifacts.stores.artifact_store import ArtifactHead, Listed
from torpor_container.artifacts.stores.s3_access import S3Access, aws_endpoint, role_session, usual_session

FORBIDDEN = frozenset({401, 403})
MISSING = 404
PRECONDITION_FAILED = 412


def expressible(key: str) -> bool:
    """Whether obstore's paths can name this key."""
    return {"", ".", ".."}.isdisjoint(key.split("/"))


class ExactS3:
    """One bucket. Methods raise ArtifactMissing, ArtifactForbidden, StoreUnreachable."""

    def __init__(self, bucket: str, access: S3Access) -> None:
        self._bucket = bucket
        self._access = access

    def head(self, key: str) -> ArtifactHead:
        if not key:  # a bucket, and none of its objects
            raise ArtifactMissing(self._bucket, key)
        with self._faults(key):
            found = self._client.head_object(Bucket=self._bucket, Key=key)
        return ArtifactHead(found["ContentLength"], found["ETag"])

    def chunks(self, key: str, version: str, chunk_bytes: int) -> Iterator[bytes]:
        """The object's bytes, if it is still this version. Raises DownloadBroken too."""
        with self._faults(key):
            found = self._client.get_object(Bucket=self._bucket, Key=key, IfMatch=version)
            yield from found["Body"].iter_chunks(chunk_bytes)

    def encrypted_at_rest(self, key: str) -> bool:
        """See `s3_access.encrypted_at_rest`."""
        with self._faults(key):
            found = self._client.head_object(Bucket=self._bucket, Key=key)
        return str(found.get("ServerSideEncryption", "")).startswith("aws:kms")

    def listed(self, prefix: str, at_most: int) -> list[Listed]:
        """See `ArtifactStore.listed`."""
        found: list[Listed] = []
        with self._faults(prefix):
            for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix):
                found += [Listed(row["Key"], row["Size"], row["ETag"]) for row in page.get("Contents", ())]
                if len(found) > at_most:
                    break
        return found[: at_most + 1]

    @cached_property
    def _client(self) -> Any:
        import boto3
        from botocore.config import Config

        given: dict[str, str | None]

        access = self._access
        if access.credentials_url:
            session, given = role_session(access), {}
        elif access.access_key_id:
            session = boto3.Session()
            given = {
                "aws_access_key_id": access.access_key_id,
                "aws_secret_access_key": access.secret_access_key,
                "aws_session_token": access.session_token or None,
            }
        else:
            session, given = usual_session(), {}
        region = access.region or session.region_name or "us-east-1"
        config = Config(
            connect_timeout=access.connect_timeout_s,
            read_timeout=access.patience_s,
            retries={"total_max_attempts": access.retries_max + 1},
            s3={"addressing_style": "path"},
            proxies={} if access.local else None,
        )
        return session.client(
            "s3",
            region_name=region,
            endpoint_url=access.endpoint_url or aws_endpoint(region),
            config=config,
            **given,
        )

    @contextmanager
    def _faults(self, key: str) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield
        except ClientError as error:
            status = error.response["ResponseMetadata"]["HTTPStatusCode"]
            if status == MISSING:
                raise ArtifactMissing(self._bucket, key) from error
            if status in FORBIDDEN:
                raise ArtifactForbidden(self._bucket, key) from error
            if status == PRECONDITION_FAILED:
                raise DownloadBroken(self._bucket, key, "it was overwritten while it was read") from error
            raise StoreUnreachable(self._bucket, key, str(error)) from error
        except (BotoCoreError, OSError) as error:  # OSError: the connection broke in the midst of a body
            raise StoreUnreachable(self._bucket, key, str(error)) from error

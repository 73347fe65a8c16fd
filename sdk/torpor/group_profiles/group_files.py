"""Where the file of a group is in S3: reads it, and writes it."""

from contextlib import closing
from dataclasses import dataclass

from botocore.exceptions import ClientError

from torpor.calling.connection import EndpointConnection
from torpor_endpoint.core.model_choice.group_file import SUFFIX

MISSING = ("NoSuchKey", "404", "NoSuchBucket")


@dataclass(frozen=True)
class GroupPlace:
    """The file of one group."""

    connection: EndpointConnection
    bucket: str
    key: str

    @classmethod
    def below(cls, connection: EndpointConnection, prefix: str, group: str) -> "GroupPlace":
        """The file of a group below the prefix `s3://bucket/folder/`."""
        bucket, _, folder = prefix.removeprefix("s3://").partition("/")
        return cls(connection, bucket, f"{folder.rstrip('/')}/{group}{SUFFIX}".removeprefix("/"))

    @property
    def url(self) -> str:
        return f"s3://{self.bucket}/{self.key}"

    def text(self) -> bytes | None:
        """None if there is no such file. Raises ClientError."""
        try:
            with closing(self.connection.client("s3")) as s3:
                found: bytes = s3.get_object(Bucket=self.bucket, Key=self.key)["Body"].read()
        except ClientError as error:
            if error.response["Error"]["Code"] in MISSING:
                return None
            raise
        return found

    def put(self, text: bytes) -> None:
        with closing(self.connection.client("s3")) as s3:
            s3.put_object(Bucket=self.bucket, Key=self.key, Body=text, ContentType="application/json")

"""The application of the S3 server: a store in the folder that the environment names."""

import os
import resource
from pathlib import Path

from torpor_account.s3.app import S3App
from torpor_account.s3.store import ObjectStore

ACCOUNT = "123456789012"
REGION = "us-east-1"


def app() -> S3App:
    if limit := os.environ.get("S3_SERVER_FILE_MAX_BYTES"):  # a disk that is full for any larger file
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    return S3App(ObjectStore(Path(os.environ["S3_SERVER_ROOT"])), account=ACCOUNT, region=REGION)

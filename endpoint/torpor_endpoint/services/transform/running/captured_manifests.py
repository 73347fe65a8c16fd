"""What DataCaptureConfig of a transform job writes: manifests of the objects that were captured, and marks of records.

AWS's developer guide, "Capture data from batch transform job": below `<destination>/input/yyyy/mm/dd/hh` and
`<destination>/output/…` are lists of a prefix and of keys, not the data itself.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, uuid4, uuid5

from torpor_account.s3.access.embedded import Storage
from torpor_endpoint.services.transform.lifecycle import TransformJob
from torpor_endpoint.services.transform.running.inputs import JobObject, split


def stamp_of(job: TransformJob) -> tuple[str, str]:
    """The id of one more record, and the time that the job began."""
    began = datetime.fromtimestamp(job.started_s or job.created_s, UTC)
    return str(uuid4()), began.strftime("%Y-%m-%dT%H:%M:%SZ")


def write_manifests(storage: Storage, job: TransformJob, captured: Sequence[JobObject], now_s: float) -> None:
    """Write both lists. A job of this ARN and hour has one name, also after a restart. Raises StorageError."""
    if not captured:
        return
    bucket, prefix = split(job.request["DataCaptureConfig"]["DestinationS3Uri"])
    hour = datetime.fromtimestamp(now_s, UTC).strftime("%Y/%m/%d/%H")
    output_bucket, _ = split(job.request["TransformOutput"]["S3OutputPath"])
    lists = {
        "input": _listed(captured[0].bucket, [one.key for one in captured]),
        "output": _listed(output_bucket, [one.result for one in captured]),
    }
    above = f"{prefix.rstrip('/')}/" if prefix else ""
    for side, text in lists.items():
        storage.write(text.encode(), bucket, f"{above}{side}/{hour}/{uuid5(NAMESPACE_URL, job.arn)}.json")


def _listed(bucket: str, keys: Sequence[str]) -> str:
    first, last = min(keys), max(keys)
    same = next((place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first))
    folder = first[: first.rfind("/", 0, same) + 1]
    return json.dumps([{"prefix": f"s3://{bucket}/{folder}"}, *(key.removeprefix(folder) for key in keys)])

"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

DIFFERENCES: Final[Mapping[str, str]] = {
    "CreateTransformJob": "Instances are processes of this machine (`docs/how-to/batch-transform.md`). Refuses models of many models "
    "and Direct mode, MaxPayloadInMB 0, DataCaptureConfig, and S3DataType other than S3Prefix and ManifestFile. "
    "Keeps KMS keys and ExperimentConfig without effect. A slice of a filter ends before its second index.",
    "StopTransformJob": "Accepts a job that is Stopping already, and does nothing.",
}

"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

DIFFERENCES: Final[Mapping[str, str]] = {
    "CreateTransformJob": "Instances are processes of this machine (`docs/how-to/batch-transform.md`). Accepts a model of mode "
    "MultiModel if a column (`TORPOR_BATCH_MODEL`) or the manifest names the model of each record; `--aws-strict` refuses that. Refuses models in Direct mode, and "
    "S3DataType other than S3Prefix and ManifestFile; with MaxPayloadInMB 0, also DataProcessing, GenerateInferenceId and "
    "models of several containers. A slice of a filter ends before its second "
    "index. Without Accept, DataProcessing asks the container for the ContentType. "
    "The lists of DataCaptureConfig are written when the job ends, by names of Torpor's own.",
    "StopTransformJob": "Accepts a job that is Stopping already, and does nothing. The results of the objects that are done stay.",
}

WITHOUT_EFFECT: Final[Mapping[str, tuple[str, ...]]] = {
    "CreateTransformJob": (
        "TransformOutput.KmsKeyId",
        "DataCaptureConfig.KmsKeyId",
        "TransformResources.VolumeKmsKeyId",
        "TransformResources.TransformAmiVersion",
        "ExperimentConfig",
    )
}
"""By operation, the members that are kept and shown without effect. A test holds them against the code and the model."""

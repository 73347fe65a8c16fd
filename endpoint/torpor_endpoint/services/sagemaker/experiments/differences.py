"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

from torpor_endpoint.services.sagemaker.members.checking import listed
from torpor_endpoint.services.sagemaker.members.known import Treatment

DIFFERENCES: Final[Mapping[str, str]] = {
    "CreateInferenceExperiment": "The endpoint must have one production variant on instances, and no other shadow variant; "
    "its name is SourceModelVariantName. Where its ModelName in ModelVariants is another one, the endpoint serves that model "
    "until the end of the schedule, or for good with Retain. An endpoint has one experiment at a time that has not ended. "
    "Endpoints of many models may have experiments; `--aws-strict` refuses them. Each change of the endpoint makes an endpoint "
    "configuration, which is deleted when the endpoint leaves it. If another call updates or deletes the endpoint, the experiment is Cancelled. "
    f"Kept without effect: {listed(Treatment.KEPT, 'CreateInferenceExperimentRequest')}, also the KmsKey of DataStorageConfig.",
    "UpdateInferenceExperiment": "Updating is shown only while the endpoint changes, which a new SamplingPercentage of a running "
    "experiment causes. The names of the variants and their models cannot change.",
    "StopInferenceExperiment": "ModelVariantActions must have both variants. DesiredState is Completed by default. Retain of the production "
    "and Remove of the shadow variant, without DesiredModelVariants, gives the endpoint its configuration of before back. If the endpoint "
    "cannot be changed, the experiment is Running again, with a StatusReason.",
    "DeleteInferenceExperiment": "Takes an experiment that is Created, Completed or Cancelled.",
}

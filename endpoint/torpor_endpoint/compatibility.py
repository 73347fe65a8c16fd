"""Every AWS operation that this endpoint answers, and what differs: the tables of the services, side by side."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from torpor_endpoint.services.autoscaling import differences as of_autoscaling
from torpor_endpoint.services.autoscaling import service as autoscaling
from torpor_endpoint.services.cloudwatch import differences as of_cloudwatch
from torpor_endpoint.services.cloudwatch import service as cloudwatch
from torpor_endpoint.services.cloudwatch.alarms import operations as alarms
from torpor_endpoint.services.iam import differences as of_iam
from torpor_endpoint.services.iam import service as iam
from torpor_endpoint.services.logs import differences as of_logs
from torpor_endpoint.services.logs import service as logs
from torpor_endpoint.services.moto import longtail
from torpor_endpoint.services.runtime import differences as of_runtime
from torpor_endpoint.services.s3 import differences as of_s3
from torpor_endpoint.services.s3 import routes as s3
from torpor_endpoint.services.sagemaker import differences as of_control
from torpor_endpoint.services.sagemaker import operations as control
from torpor_endpoint.services.sts import service
from torpor_endpoint.services.training import differences as of_training
from torpor_endpoint.services.training import operations as training

LEFT_TO_MOTO = "moto's, if it is installed"


@dataclass(frozen=True)
class Face:
    """One service, by botocore's name. `rest` says who answers its other operations."""

    service: str
    operations: Collection[str]
    differences: Mapping[str, str] = field(default_factory=dict)
    rest: str = "refused at once"


FACES: tuple[Face, ...] = (
    Face(
        "sagemaker",
        [*control.OPERATIONS, *training.OPERATIONS],
        {**of_control.DIFFERENCES, **of_training.DIFFERENCES},
    ),
    Face("sagemaker-runtime", of_runtime.OPERATIONS, of_runtime.DIFFERENCES),
    Face("s3", s3.OPERATIONS, of_s3.DIFFERENCES),
    Face("cloudwatch", [*cloudwatch.OPERATIONS, *alarms.OPERATIONS], of_cloudwatch.DIFFERENCES, LEFT_TO_MOTO),
    Face("logs", logs.OPERATIONS, of_logs.DIFFERENCES, LEFT_TO_MOTO),
    Face("application-autoscaling", autoscaling.OPERATIONS, of_autoscaling.DIFFERENCES),
    Face("iam", iam.OPERATIONS, of_iam.DIFFERENCES, LEFT_TO_MOTO),
    Face("sts", service.OPERATIONS, service.DIFFERENCES),
)

MOTO_ALONE: tuple[str, ...] = tuple(sorted(longtail.SERVICES.keys() - {face.service for face in FACES}))
"""Services that moto answers alone. What it keeps is in memory, and nothing here acts on it."""

"""Lists every service of an endpoint once: those of SageMaker here, and those of the account beside them."""

import re
from typing import Any

from torpor_account import services as of_account
from torpor_account.aws.wire.scope import Address, Addresses
from torpor_account.services import MOTO_ADDRESSES, AwsService, ServiceTables
from torpor_endpoint.services.sagemaker_parts import SageMakerParts

RUNTIME = "sagemaker-runtime"


def _sagemaker() -> ServiceTables[SageMakerParts]:
    from torpor_endpoint.services import job_kinds
    from torpor_endpoint.services.pipelines import differences as of_pipelines
    from torpor_endpoint.services.pipelines import execution_operations as executions
    from torpor_endpoint.services.pipelines import pipeline_operations as pipelines
    from torpor_endpoint.services.sagemaker import differences, service
    from torpor_endpoint.services.sagemaker.components import differences as of_components
    from torpor_endpoint.services.sagemaker.experiments import differences as of_experiments
    from torpor_endpoint.services.sagemaker.experiments import operations as experiments
    from torpor_endpoint.services.sagemaker.left_out import empty_list_operations as empty_lists
    from torpor_endpoint.services.sagemaker.lineage import differences as of_lineage
    from torpor_endpoint.services.sagemaker.lineage import lineage_operations as lineage
    from torpor_endpoint.services.sagemaker.search import differences as of_search
    from torpor_endpoint.services.sagemaker.search import search_operations as search

    piped = (*pipelines.OPERATIONS, *executions.OPERATIONS)
    further = (*lineage.OPERATIONS, *search.OPERATIONS)
    operations = (*service.OPERATIONS, *experiments.OPERATIONS, *job_kinds.OPERATIONS, *piped, *further)
    known = {
        **empty_lists.DIFFERENCES,
        **differences.DIFFERENCES,
        **of_components.DIFFERENCES,
        **of_experiments.DIFFERENCES,
        **of_lineage.DIFFERENCES,
        **of_search.DIFFERENCES,
        **job_kinds.DIFFERENCES,
        **of_pipelines.DIFFERENCES,
    }
    unused = {
        **differences.WITHOUT_EFFECT,
        **of_components.WITHOUT_EFFECT,
        **job_kinds.WITHOUT_EFFECT,
    }
    return ServiceTables(service.compose, operations, known, unused, service.KEPT)


def _runtime() -> ServiceTables[SageMakerParts]:
    from torpor_endpoint.services.sagemaker_runtime import differences

    return ServiceTables(lambda parts: parts.runtime, differences.OPERATIONS, differences.DIFFERENCES)


def _autoscaling() -> ServiceTables[SageMakerParts]:
    from torpor_endpoint.services.autoscaling import differences, service

    return ServiceTables(service.compose, service.OPERATIONS, differences.DIFFERENCES, kept=service.KEPT)


OWN: tuple[AwsService[SageMakerParts], ...] = (
    AwsService(Address("sagemaker", target="SageMaker"), _sagemaker),
    AwsService(Address(RUNTIME, signed_as=("sagemaker",)), _runtime),
    AwsService(Address("application-autoscaling", target="AnyScaleFrontendService"), _autoscaling),
)
"""SageMaker's services, and what scales its variants."""

SERVICES: tuple[AwsService[Any], ...] = (
    *OWN[:2],
    *(of_account.S3, of_account.CLOUDWATCH, of_account.LOGS),
    *OWN[2:],
    *(of_account.IAM, of_account.STS),
)
"""All services, in the order of the documentation."""

OPEN_INFERENCE = "open-inference"
TF_SERVING = "tf-serving"
OPENAI = "openai"
FACES = (
    Address(OPEN_INFERENCE, signed_as=("sagemaker",), paths=re.compile(r"/v2(/.*)?", re.DOTALL)),
    Address(TF_SERVING, signed_as=("sagemaker",), paths=re.compile(r"/v1/(endpoints/[^/]+/)?models/.+", re.DOTALL)),
    Address(
        OPENAI,
        signed_as=("sagemaker",),
        paths=re.compile(
            r"((/endpoints/[^/]+)?/openai/v1|/v1(/endpoints/[^/]+)?)/(chat/completions|completions|embeddings|models)"
            r"|(/endpoints/[^/]+)?/openai/v1/models/.+",
            re.DOTALL,
        ),
    ),
)
"""Protocols that are not AWS's, and the paths of each. No bucket of S3 can be called `v1` or `v2`; in buckets called
`openai` and `endpoints` the few paths of OpenAI's API are its own, unless a request is signed for S3."""

ADDRESSES = Addresses((*(service.address for service in SERVICES), *MOTO_ADDRESSES, *FACES))

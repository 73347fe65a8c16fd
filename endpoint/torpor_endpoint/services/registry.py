"""Lists every service once: how requests name it, what it answers, how it differs from AWS, and what makes it.

An operation is added in its service's folder: a function, a row in `OPERATIONS`, and a line in `DIFFERENCES`. A service
is added with a folder of its own and an entry here. A service's folder is imported when something reads its tables.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from torpor_account.aws.wire.asgi import App
from torpor_account.aws.wire.scope import Address, Addresses
from torpor_endpoint.services.parts import ServiceParts

RUNTIME = "sagemaker-runtime"
REFUSED = "refused at once"
LEFT_TO_MOTO = "moto's, if it is installed"
HARMLESS_TO_MOTO = f"{LEFT_TO_MOTO}; with `--auth` those alone that grant and refuse nothing, and the rest is refused"


@dataclass(frozen=True)
class ServiceTables:
    """What the folder of a service declares. `operations` are the names of the operations that it answers."""

    compose: Callable[[ServiceParts], App]
    operations: Collection[str]
    differences: Mapping[str, str] = field(default_factory=dict)
    """The differences from AWS by operation, in sentences for the documentation."""
    without_effect: Mapping[str, Collection[str]] = field(default_factory=dict)
    """By operation, the members that are kept and shown without effect."""
    kept: Collection[str] = ()
    """The lists that its answers include even when they are empty."""


@dataclass(frozen=True)
class AwsService:
    """One service that this endpoint answers. `tables` imports its folder, which takes a while: call it in a thread."""

    address: Address
    tables: Callable[[], ServiceTables]
    rest: str = REFUSED
    """What happens to the operations that its tables lack, in the words of the documentation."""

    @property
    def name(self) -> str:
        """botocore's name of the service."""
        return self.address.service

    def compose(self, parts: ServiceParts) -> App:
        """Make the service from the endpoint's parts."""
        return self.tables().compose(parts)


def _sagemaker() -> ServiceTables:
    from torpor_endpoint.services.sagemaker import differences, service
    from torpor_endpoint.services.sagemaker.experiments import differences as of_experiments
    from torpor_endpoint.services.sagemaker.experiments import operations as experiments
    from torpor_endpoint.services.training import differences as of_training
    from torpor_endpoint.services.training import operations as training
    from torpor_endpoint.services.transform import differences as of_transform
    from torpor_endpoint.services.transform import operations as transform

    operations = (*service.OPERATIONS, *experiments.OPERATIONS, *training.OPERATIONS, *transform.OPERATIONS)
    known = {
        **differences.DIFFERENCES,
        **of_experiments.DIFFERENCES,
        **of_training.DIFFERENCES,
        **of_transform.DIFFERENCES,
    }
    unused = {**differences.WITHOUT_EFFECT, **of_training.WITHOUT_EFFECT, **of_transform.WITHOUT_EFFECT}
    return ServiceTables(service.compose, operations, known, unused, service.KEPT)


def _runtime() -> ServiceTables:
    from torpor_endpoint.services.sagemaker_runtime import differences

    return ServiceTables(lambda parts: parts.runtime, differences.OPERATIONS, differences.DIFFERENCES)


def _s3() -> ServiceTables:
    from torpor_account.s3 import differences, routes, service

    def made(parts: ServiceParts) -> App:
        elsewhere = parts.options.s3_endpoint
        if elsewhere is not None:
            return service.elsewhere(elsewhere)
        return service.service(parts.objects, parts.iam, account=parts.account, region=parts.options.region)

    return ServiceTables(made, routes.OPERATIONS, differences.DIFFERENCES)


def _cloudwatch() -> ServiceTables:
    from torpor_account.cloudwatch import differences, service
    from torpor_account.cloudwatch.alarms import operations as alarms

    def made(parts: ServiceParts) -> App:
        read = service.CloudWatch(parts.registry, parts.refresh)
        return service.service(read, parts.alarms, account=parts.account, otherwise=parts.otherwise)

    operations = (*service.OPERATIONS, *alarms.OPERATIONS)
    return ServiceTables(made, operations, differences.DIFFERENCES, kept=service.KEPT)


def _logs() -> ServiceTables:
    from torpor_account.logs import differences, service

    def made(parts: ServiceParts) -> App:
        return service.service(parts.logs, account=parts.account, otherwise=parts.otherwise)

    return ServiceTables(made, service.OPERATIONS, differences.DIFFERENCES, kept=service.KEPT)


def _autoscaling() -> ServiceTables:
    from torpor_endpoint.services.autoscaling import differences, service

    return ServiceTables(service.compose, service.OPERATIONS, differences.DIFFERENCES, kept=service.KEPT)


def _iam() -> ServiceTables:
    from torpor_account.iam import differences, service

    def made(parts: ServiceParts) -> App:
        return service.service(parts.iam, account=parts.account, otherwise=parts.otherwise, directory=parts.directory)

    return ServiceTables(made, service.OPERATIONS, differences.DIFFERENCES, kept=service.KEPT)


def _sts() -> ServiceTables:
    from torpor_account.sts import differences, service

    def made(parts: ServiceParts) -> App:
        return service.service(parts.clock, account=parts.account, directory=parts.directory)

    return ServiceTables(made, service.OPERATIONS, differences.DIFFERENCES)


SERVICES: tuple[AwsService, ...] = (
    AwsService(Address("sagemaker", target="SageMaker"), _sagemaker),
    AwsService(Address(RUNTIME, signed_as=("sagemaker",)), _runtime),
    AwsService(Address("s3", signed_as=("s3", "s3express", "s3-outposts")), _s3),
    AwsService(
        Address("cloudwatch", ("monitoring",), "GraniteServiceVersion20100801", "2010-08-01"),
        _cloudwatch,
        LEFT_TO_MOTO,
    ),
    AwsService(Address("logs", target="Logs_20140328"), _logs, LEFT_TO_MOTO),
    AwsService(Address("application-autoscaling", target="AnyScaleFrontendService"), _autoscaling),
    AwsService(Address("iam", version="2010-05-08"), _iam, HARMLESS_TO_MOTO),
    AwsService(Address("sts", version="2011-06-15"), _sts),
)

MOTO_ADDRESSES: tuple[Address, ...] = (
    Address("ecr", target="AmazonEC2ContainerRegistry_V20150921"),
    Address("sns", version="2010-03-31"),
    Address("sqs", target="AmazonSQS", version="2012-11-05"),
)
"""Those services of moto alone that an unsigned request can name."""

ADDRESSES = Addresses((*(service.address for service in SERVICES), *MOTO_ADDRESSES))

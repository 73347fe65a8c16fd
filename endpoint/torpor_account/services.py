"""Lists the account's services once: how requests name each, what it answers, how it differs from AWS, what makes it.

An operation is added in its service's folder: a function, a row in `OPERATIONS`, and a line in `DIFFERENCES`. A service
is added with a folder of its own and an entry here. A service's folder is imported when something reads its tables.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Generic, TypeVar

from torpor_account.aws.wire.asgi import App
from torpor_account.aws.wire.scope import Address
from torpor_container.frozen_class import frozen

if TYPE_CHECKING:
    from torpor_account.account import Account

Maker = TypeVar("Maker")
"""What a service is made from: the account, or more than it."""

REFUSED = "refused at once"
LEFT_TO_MOTO = "moto's, if it is installed"
HARMLESS_TO_MOTO = f"{LEFT_TO_MOTO}; with `--auth` those alone that grant and refuse nothing, and the rest is refused"


@frozen
class ServiceTables(Generic[Maker]):
    """What the folder of a service declares. `operations` are the names of the operations that it answers."""

    compose: Callable[[Maker], App]
    operations: Collection[str]
    differences: Mapping[str, str] = field(default_factory=dict)
    """The differences from AWS by operation, in sentences for the documentation."""
    without_effect: Mapping[str, Collection[str]] = field(default_factory=dict)
    """By operation, the members that are kept and shown without effect."""
    kept: Collection[str] = ()
    """The lists that its answers include even when they are empty."""


@frozen
class AwsService(Generic[Maker]):
    """One service that is answered here. `tables` imports its folder, which takes a while: call it in a thread."""

    address: Address
    tables: Callable[[], ServiceTables[Maker]]
    rest: str = REFUSED
    """What happens to the operations that its tables lack, in the words of the documentation."""

    @property
    def name(self) -> str:
        """botocore's name of the service."""
        return self.address.service

    def compose(self, made_from: Maker) -> App:
        """Make the service."""
        return self.tables().compose(made_from)


def _s3() -> "ServiceTables[Account]":
    from torpor_account.s3 import differences, routes, service

    def made(account: "Account") -> App:
        if account.options.s3_endpoint is not None:
            return service.elsewhere(account.options.s3_endpoint)
        return service.service(account.objects, account.iam, account=account.number, region=account.region)

    return ServiceTables(made, routes.OPERATIONS, differences.DIFFERENCES)


def _cloudwatch() -> "ServiceTables[Account]":
    from torpor_account.cloudwatch import differences, service
    from torpor_account.cloudwatch.alarms import operations as alarms

    def made(account: "Account") -> App:
        read = service.CloudWatch(account.registry, account.around.refresh)
        return service.service(read, account.alarms, account=account.number, otherwise=account.long_tail.answer)

    operations = (*service.OPERATIONS, *alarms.OPERATIONS)
    return ServiceTables(made, operations, differences.DIFFERENCES, kept=service.KEPT)


def _logs() -> "ServiceTables[Account]":
    from torpor_account.logs import differences, service

    def made(account: "Account") -> App:
        return service.service(account.logs, account=account.number, otherwise=account.long_tail.answer)

    return ServiceTables(made, service.OPERATIONS, differences.DIFFERENCES, kept=service.KEPT)


def _iam() -> "ServiceTables[Account]":
    from torpor_account.iam import differences, service

    def made(account: "Account") -> App:
        otherwise = account.long_tail.answer
        return service.service(account.iam, account=account.number, otherwise=otherwise, directory=account.directory)

    return ServiceTables(made, service.OPERATIONS, differences.DIFFERENCES, kept=service.KEPT)


def _sts() -> "ServiceTables[Account]":
    from torpor_account.sts import differences, service

    def made(account: "Account") -> App:
        return service.service(account.around.epoch, account=account.number, directory=account.directory)

    return ServiceTables(made, service.OPERATIONS, differences.DIFFERENCES)


S3 = AwsService(Address("s3", signed_as=("s3", "s3express", "s3-outposts")), _s3)
CLOUDWATCH = AwsService(
    Address("cloudwatch", ("monitoring",), "GraniteServiceVersion20100801", "2010-08-01"), _cloudwatch, LEFT_TO_MOTO
)
LOGS = AwsService(Address("logs", target="Logs_20140328"), _logs, LEFT_TO_MOTO)
IAM = AwsService(Address("iam", version="2010-05-08"), _iam, HARMLESS_TO_MOTO)
STS = AwsService(Address("sts", version="2011-06-15"), _sts)

SERVICES: "tuple[AwsService[Account], ...]" = (S3, CLOUDWATCH, LOGS, IAM, STS)

MOTO_ADDRESSES: tuple[Address, ...] = (
    Address("ecr", target="AmazonEC2ContainerRegistry_V20150921"),
    Address("sns", version="2010-03-31"),
    Address("sqs", target="AmazonSQS", version="2012-11-05"),
)
"""Those services of moto alone that an unsigned request can name."""

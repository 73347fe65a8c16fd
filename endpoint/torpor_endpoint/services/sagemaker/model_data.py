"""Whether a new model's execution role may read its model data, where callers are verified."""

from collections.abc import Iterator
from dataclasses import dataclass

from torpor_account.core.access.needs import AccessNeed
from torpor_account.iam.execution.execution_roles import ExecutionRoles
from torpor_account.iam.execution.refused import RoleRefused
from torpor_account.s3.access.as_role import BucketRules, listing_bucket
from torpor_endpoint.core.resource_records import Container, ModelRecord
from torpor_endpoint.services.sagemaker import errors


@dataclass(frozen=True)
class ModelDataAccess:
    """Asks the policies of roles and buckets. `roles` assumes what a model names."""

    roles: ExecutionRoles
    rules: BucketRules

    def check(self, model: ModelRecord) -> None:
        """Raises ValidationException, in AWS's words. A model without data is not checked here, as on AWS."""
        for container in model.containers:
            if container.model_data_url is not None and not self._may_read(container, model.arn):
                role = self.roles.arn(container.role)
                raise errors.NO_MODEL_DATA(url=container.model_data_url, role=role, region=self.roles.region)

    def check_assumed(self, role: str, source: str) -> None:
        """Raises ValidationException, in AWS's words, for a job's role that SageMaker may not assume."""
        try:
            self.roles.assumed(role, source)
        except RoleRefused as refused:
            raise errors.NOT_ASSUMED(role=refused.role) from None

    def _may_read(self, container: Container, source: str) -> bool:
        try:
            access = self.roles.assumed(container.role, source)
        except RoleRefused:
            return False
        bucket, _, key = (container.model_data_url or "").removeprefix("s3://").partition("/")
        policy = self.rules.policy(bucket)
        return all(access.decide(need, policy).allowed for need in _needs(self.rules, container, bucket, key))


def _needs(rules: BucketRules, container: Container, bucket: str, key: str) -> Iterator[AccessNeed]:
    """A prefix is listed, and its objects are read when they are wanted; they cannot be known before."""
    if container.multi_model or (not container.compressed and key.endswith("/")):
        yield listing_bucket(bucket, key)
    else:
        yield rules.reading_object(bucket, key)

"""The parts of an endpoint that use execution roles: made where callers are verified and the object store is embedded.

With another S3 (`--s3-endpoint`) roles are names only: their credentials would be worth nothing there.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from threading import Lock

from torpor_account.iam.execution.credentials_pages import CredentialsPages
from torpor_account.iam.execution.execution_roles import ExecutionRoles
from torpor_account.iam.execution.grants import RoleGrants
from torpor_account.iam.execution.loopback import LoopbackPages
from torpor_account.iam.identities.directory import Directory
from torpor_account.s3.access.as_role import acting_as, rules_of, why_unreadable
from torpor_account.s3.object_store import ObjectStore
from torpor_container.processes.inherited_variables import CREDENTIALS, ROLE_TOKEN, ROLE_URL
from torpor_endpoint.core.ledger_records import TRANSFORM_JOB
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.host import Host, LaunchSpec, Slot
from torpor_endpoint.host.signing import SigningHost
from torpor_endpoint.options import Options
from torpor_endpoint.routing.protocol.role_keys import RoleKeys
from torpor_endpoint.services.sagemaker.model_data import ModelDataAccess


class RoleParts:
    """The roles of one endpoint, and what gives their credentials to instances and jobs."""

    def __init__(self, options: Options, directory: Directory, objects: ObjectStore) -> None:
        self._options = options
        rules = rules_of(objects)
        self.roles = ExecutionRoles(directory, options.account, options.region, objects.clock)
        self.grants = RoleGrants(self.roles, directory.grants, time.time)
        self.as_role = acting_as(self.roles, rules)
        self.model_data = ModelDataAccess(self.roles, rules)
        self.pages = CredentialsPages(self.grants, why_unreadable(self.roles, rules)).by_path
        self._lending = Lock()
        self._tokens: dict[str, str] = {}  # of what routers capture
        self.apart = LoopbackPages(self.pages) if options.lends_apart else None

    def signing(self, host: Host) -> SigningHost:
        """The host, whose instances get the credentials of their roles."""
        return SigningHost(host, self._begin, self._end, self._keep)

    async def fault(self, variant: Variant, source: str) -> str | None:
        """As `InstanceFactory.fault`."""
        config = variant.asynchronous
        topics = () if config is None else tuple(filter(None, (config.success_topic, config.error_topic)))
        return await asyncio.to_thread(self.roles.fault, variant.role, topics, source)

    @asynccontextmanager
    async def lent(self, role: str, job: str) -> AsyncIterator[Mapping[str, str]]:
        """As `training_work.JobCredentials`."""
        token = await asyncio.to_thread(self.grants.begin, job, role, job)
        try:
            yield self._variables(token)
        finally:
            await asyncio.to_thread(self.grants.end, job)

    def lent_to_routers(self, endpoint: str, role: str) -> RoleKeys:
        """Credentials that hold for a while, the same for all routers. Raises RoleRefused."""
        owner = f"routers {endpoint} {role}"
        with self._lending:
            if owner not in self._tokens:
                self._tokens[owner] = self.grants.begin(owner, role, self._arn_of("endpoint", endpoint))
            found = self.grants.credentials(self._tokens[owner])
        return RoleKeys(found.access_key, found.secret, found.token, found.expires_s)

    def _begin(self, spec: LaunchSpec) -> Mapping[str, str]:
        """Raises RoleRefused."""
        return self._variables(self.grants.begin(str(spec.slot), spec.role, self._arn(spec.slot)))

    def _end(self, slot: Slot) -> None:
        self.grants.end(str(slot))

    def _keep(self, slots: Collection[Slot]) -> None:
        self.grants.keep(set(map(str, slots)))

    def _arn(self, slot: Slot) -> str:
        """The ARN of the endpoint, or of the transform job, of an instance."""
        name = slot.endpoint.removeprefix(TRANSFORM_JOB)
        return self._arn_of("endpoint" if name == slot.endpoint else "transform-job", name)

    def _arn_of(self, kind: str, name: str) -> str:
        return f"arn:aws:sagemaker:{self._options.region}:{self._options.account}:{kind}/{name.lower()}"

    def _variables(self, token: str) -> dict[str, str]:
        url = self._options.instances_url if self.apart is None else f"http://127.0.0.1:{self.apart.port}"
        return {ROLE_URL: f"{url}{CREDENTIALS}", ROLE_TOKEN: token}

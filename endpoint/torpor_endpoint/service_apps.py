"""The ASGI applications behind the one port, made of an endpoint's parts: one for each AWS service, and Torpor's pages.

Most are made when their first request comes: an endpoint that only answers invocations never imports the others.
"""

import asyncio
from functools import cached_property, partial
from typing import TYPE_CHECKING

from torpor_account.aws.lazy import LazyApp
from torpor_account.aws.wire.asgi import App, Inline
from torpor_endpoint.chores import Chores
from torpor_endpoint.clocks.travelling import TravellingClock
from torpor_endpoint.endpoint_parts import EndpointParts
from torpor_endpoint.faces.late_face import LateFace
from torpor_endpoint.options import LOCAL
from torpor_endpoint.runtime.app import RuntimeApp
from torpor_endpoint.runtime.asynchronous.async_invocations import AsyncInvocations
from torpor_endpoint.services.sagemaker_parts import SageMakerParts
from torpor_endpoint.services.service_register import OPEN_INFERENCE, OPENAI, OWN, RUNTIME, TF_SERVING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.routing import Route

    from torpor_endpoint.core.pages.cold_starts import ColdStart
    from torpor_endpoint.faces.finding_models import FaceModels
    from torpor_endpoint.faces.open_inference.v2_face import OpenInferenceFace
    from torpor_endpoint.faces.tf_serving.tfs_face import TfServingFace
    from torpor_endpoint.ledger.reader import LedgerReader
    from torpor_endpoint.pages.clock import ClockPage
    from torpor_endpoint.pages.denials import DenialPages
    from torpor_endpoint.pages.ledger import Pages
    from torpor_endpoint.pages.origin_pages import OriginPages
    from torpor_endpoint.runtime.invocations_elsewhere import InvocationsElsewhere


class ServiceApps:
    """Makes the applications of one endpoint."""

    def __init__(self, parts: EndpointParts, chores: Chores) -> None:
        self._parts = parts
        self._chores = chores
        self._options = parts.options
        steps = parts.router.steps
        queued = AsyncInvocations(steps, parts.async_queue, parts.dispatcher, parts.clock.epoch)
        self.runtime = parts.router.app(queued)
        self.invocations = self._invocations()
        self.open_inference = LateFace(self._open_inference)
        self.tf_serving = LateFace(self._tf_serving)
        self._of_services = SageMakerParts(
            options=parts.options,
            clock=parts.clock.epoch,
            store=parts.store,
            control=parts.control(),
            experimenting=parts.experimenting,
            jobs=parts.jobs,
            autoscaling=parts.autoscaling,
            runtime=self.runtime,
        )

    def by_name(self) -> dict[str, App]:
        """The services by botocore's names."""
        own = {one.name: LazyApp(partial(one.compose, self._of_services)) for one in OWN}
        self._parts.jobs.sagemaker = own["sagemaker"]
        services: dict[str, App] = {**self._parts.account.services(), **own}
        if self._parts.faults is not None:
            from torpor_endpoint.faults.faulty_store import FaultyStore

            services["s3"] = FaultyStore(services["s3"], self._parts.faults)
        services[RUNTIME] = self.invocations  # it is on the warm path: the gateway calls it without a step between
        services[OPEN_INFERENCE] = self.open_inference
        services[TF_SERVING] = self.tf_serving
        services[OPENAI] = LazyApp(self._openai)
        return services

    def inline(self) -> dict[str, Inline]:
        """What takes up requests without a task, by the names of services."""
        faces = {OPEN_INFERENCE: self.open_inference.inline, TF_SERVING: self.tf_serving.inline}
        return {RUNTIME: self.invocations.inline, **faces}

    def pages(self) -> App:
        """Torpor's own pages."""
        from torpor_endpoint.pages.app import OwnPages
        from torpor_endpoint.pages.async_requests import AsyncPages
        from torpor_endpoint.pages.version_pages import VersionPages

        parts = self._parts
        pages = OwnPages(
            parts.roster,
            parts.account.registry,
            parts.refresh_metrics,
            parts.account.folders.endpoint_logs,
            self._ledger_pages,
            lambda: AsyncPages(parts.async_queue, parts.dispatcher),
            self._origin_pages,
            self._clock_page(),
            parts.faults,
            parts.router.observers.settle,
            lambda: parts.jobs.made().transform_work.progress(),
            [*self._router_pages(), *self._certificate_pages()],
            self._denial_pages(),
            VersionPages(parts.versions.keeper, parts.versions.moves),
        )
        return pages.app()

    def _origin_pages(self) -> "OriginPages":
        from torpor_endpoint.pages.origin_pages import OriginPages
        from torpor_endpoint.services.sagemaker.lineage.model_makers import ModelMakers

        parts = self._parts
        makers = ModelMakers(parts.store.packages, parts.jobs.made().training_records)
        return OriginPages(parts.account.storage, makers.of, self._latest_cold_starts)

    async def _latest_cold_starts(self, endpoint: str, model: str) -> "tuple[ColdStart, ...]":
        return await self._ledger_pages().latest_cold_starts(endpoint, model)

    def dashboard(self) -> App:
        """The dashboard."""
        from torpor_endpoint.dashboard.app import Dashboard
        from torpor_endpoint.dashboard.feed import Feed
        from torpor_endpoint.dashboard.looking import Looking
        from torpor_endpoint.dashboard.simulating import Simulating
        from torpor_endpoint.simulating.ledger_file import ledger_file

        parts = self._parts
        cards = partial(asyncio.to_thread, parts.store.endpoint_cards)
        components = partial(asyncio.to_thread, parts.store.component_cards)
        looking = Looking(
            parts.roster,
            cards,
            parts.account.registry,
            parts.readings,
            parts.refresh_some,
            parts.clock.epoch,
            lambda name: asyncio.to_thread(parts.store.endpoint, name),
            components,
        )
        simulating = Simulating(parts.options.what_if, partial(ledger_file, parts))
        feed = Feed(looking.look, looking.later, parts.clock.epoch)
        return Dashboard(feed, looking, self._ledger_reader(), parts.flush_ledger, simulating).app()

    @cached_property
    def _face_models(self) -> "FaceModels":
        """What all faces of other protocols find models by."""
        from torpor_endpoint.faces.finding_models import FaceModels
        from torpor_endpoint.faces.finding_targets import Targets

        return FaceModels(self._parts.roster, Targets(self._parts.account.storage))

    def _open_inference(self) -> "OpenInferenceFace":
        from torpor_endpoint.faces.models_in_sight import ModelsInSight
        from torpor_endpoint.faces.open_inference.v2_face import OpenInferenceFace
        from torpor_endpoint.faces.open_inference.v2_repository import V2Repository

        models, parts = self._face_models, self._parts
        sight = ModelsInSight(parts.roster, models.targets)
        repository = V2Repository(parts.roster, models.targets, sight, self._ledger_reader, parts.flush_ledger)
        return OpenInferenceFace(self.invocations, models, repository.rows())

    def _openai(self) -> App:
        from torpor_endpoint.faces.models_in_sight import ModelsInSight
        from torpor_endpoint.faces.openai.openai_face import OpenAiFace

        sight = ModelsInSight(self._parts.roster, self._face_models.targets)
        return OpenAiFace(self.invocations, self._face_models, sight)

    def _tf_serving(self) -> "TfServingFace":
        from torpor_endpoint.faces.tf_serving.tfs_face import TfServingFace

        return TfServingFace(self.invocations, self._face_models)

    def _invocations(self) -> "RuntimeApp | InvocationsElsewhere":
        """What answers callers: a control with routers of its own choice leaves invocations to these."""
        if not self._options.no_runtime:
            return self.runtime
        from torpor_endpoint.runtime.invocations_elsewhere import InvocationsElsewhere

        return InvocationsElsewhere(self._parts.named)

    def _clock_page(self) -> "ClockPage | None":
        """None unless the clock travels."""
        clock = self._parts.clock
        if not isinstance(clock, TravellingClock):
            return None
        from torpor_endpoint.pages.clock import ClockPage

        return ClockPage(clock, partial(clock.travel, company=self._chores))

    def _router_pages(self) -> "Sequence[Route]":
        from torpor_container.http.sharing.shared_port import PortBoard
        from torpor_endpoint.routing.control.account_taker import AccountTaker
        from torpor_endpoint.routing.control.identity_publisher import IdentityPublisher
        from torpor_endpoint.routing.control.pages_for_routers import PagesForRouters
        from torpor_endpoint.routing.protocol.facts import ControlFacts

        parts, options = self._parts, self._options
        sockets = str(parts.account.folders.sockets) if options.instances_on == LOCAL else ""
        facts = ControlFacts(
            options.region,
            options.account,
            options.strict,
            options.auth,
            options.s3_endpoint or "",
            sockets,
            options.rate_limits,
            options.encrypts,
            options.encrypts and not options.tls and not options.shares_port,
        )
        lent = None if parts.role_parts is None else parts.role_parts.lent_to_routers
        identities = (
            None
            if parts.account.directory is None
            else IdentityPublisher(parts.account.database, parts.account.directory.owner)
        )
        denials = parts.account.denials
        taker = AccountTaker(parts.ledger, parts.meters, *([] if denials is None else [denials.keep]))
        return PagesForRouters(
            facts,
            parts.serving,
            parts.roster,
            parts.tables,
            parts.routers,
            taker,
            parts.ledger,
            self.runtime,
            identities,
            lent,
            None if options.shared is None else PortBoard(options.shared),
            parts.peers,
        ).routes()

    def _certificate_pages(self) -> "Sequence[Route]":
        parts = self._parts
        if parts.peers is None or parts.handing is None:
            return ()
        from torpor_endpoint.peers.certificate_page import CertificatePage

        return (CertificatePage(parts.peers, parts.handing).route(),)

    def _denial_pages(self) -> "DenialPages | None":
        """None unless callers are verified."""
        if self._parts.account.denials is None:
            return None
        from torpor_endpoint.pages.denials import DenialPages

        return DenialPages(self._parts.account.denials)

    def _ledger_pages(self) -> "Pages":
        from torpor_endpoint.pages.ledger import Pages

        return Pages(self._parts.flush_ledger, self._ledger_reader())

    def _ledger_reader(self) -> "LedgerReader":
        from torpor_endpoint.ledger.reader import LedgerReader

        return LedgerReader(self._parts.ledger.tables, self._parts.clock.epoch)

"""The ASGI applications behind the one port, made of an endpoint's parts: one for each AWS service, and Torpor's pages.

Most are made when their first request comes: an endpoint that only answers invocations never imports the others.
"""

import random
import time
from typing import TYPE_CHECKING

from torpor_endpoint.aws.lazy import LazyApp
from torpor_endpoint.aws.wire.asgi import App
from torpor_endpoint.parts import Parts
from torpor_endpoint.services.runtime.app import AccountAndRegion, Clocks, RuntimeApp
from torpor_endpoint.services.runtime.router import Limits, Router

if TYPE_CHECKING:
    from torpor_endpoint.pages.ledger import Pages


class ServiceApps:
    """Each method makes one application."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._options = parts.options
        self._otherwise = parts.long_tail.answer

    def by_name(self, runtime: RuntimeApp) -> dict[str, App]:
        """The services by botocore's names."""
        return {
            "s3": LazyApp(self._s3),
            "sagemaker": LazyApp(self._sagemaker),
            "sagemaker-runtime": runtime,
            "application-autoscaling": LazyApp(self._application_autoscaling),
            "cloudwatch": LazyApp(self._cloudwatch),
            "logs": LazyApp(self._cloudwatch_logs),
            "iam": LazyApp(self._iam),
            "sts": LazyApp(self._sts),
        }

    def for_web_pages(self) -> dict[str, App]:
        """The services that allow web pages of other origins by rules of their own."""
        return {} if self._options.s3_endpoint is not None else {"s3": LazyApp(self._s3_cross_origin)}

    def runtime(self) -> RuntimeApp:
        router = Router(self._parts.fleet, Limits(), random.random, time.perf_counter, self._options.strict)
        account = AccountAndRegion(self._options.account, self._options.region, console=self._options.strict)
        return RuntimeApp(router, self._parts.accounting, account, Clocks(time.time, time.perf_counter))

    def pages(self) -> App:
        """Torpor's own pages."""
        from torpor_endpoint.pages.app import OwnPages

        parts = self._parts
        pages = OwnPages(
            parts.fleet, parts.registry, parts.refresh_metrics, parts.folders.endpoint_logs, self._ledger_pages
        )
        return pages.app()

    def _ledger_pages(self) -> "Pages":
        from torpor_endpoint.ledger.reading import LedgerReader
        from torpor_endpoint.pages.ledger import Pages

        return Pages(self._parts.flush_ledger, LedgerReader(self._parts.ledger.tables, time.time))

    def _s3(self) -> App:
        from torpor_endpoint.services.s3.app import S3App
        from torpor_endpoint.services.s3.elsewhere import S3Elsewhere

        elsewhere = self._options.s3_endpoint
        if elsewhere is not None:
            return S3Elsewhere(elsewhere)
        return S3App(self._parts.objects, account=self._options.account, region=self._options.region)

    def _s3_cross_origin(self) -> App:
        from torpor_endpoint.services.s3.app import S3App

        return S3App(self._parts.objects, account=self._options.account, region=self._options.region).cross_origin

    def _sagemaker(self) -> App:
        from torpor_endpoint.services.sagemaker.operations import sagemaker_service
        from torpor_endpoint.services.training.operations import Training, bound

        parts, scripts = self._parts, "scripts" not in self._options.refused
        training = Training(parts.jobs, parts.trainer, parts.store.put_tags, time.time, scripts)
        return sagemaker_service(parts.control(), account=self._options.account, more=bound(training))

    def _application_autoscaling(self) -> App:
        from torpor_endpoint.services.autoscaling.service import autoscaling_service

        return autoscaling_service(self._parts.autoscaling, account=self._options.account)

    def _cloudwatch(self) -> App:
        from torpor_endpoint.services.cloudwatch.service import CloudWatch, cloudwatch_service

        read = CloudWatch(self._parts.registry, self._parts.refresh_metrics)
        return cloudwatch_service(read, self._parts.alarms, account=self._options.account, otherwise=self._otherwise)

    def _cloudwatch_logs(self) -> App:
        from torpor_endpoint.services.logs.service import logs_service

        return logs_service(self._parts.logs, account=self._options.account, otherwise=self._otherwise)

    def _iam(self) -> App:
        from torpor_endpoint.services.iam.context import Iam
        from torpor_endpoint.services.iam.service import iam_service

        iam = Iam(self._parts.database, self._parts.store, time.time)
        return iam_service(iam, account=self._options.account, otherwise=self._otherwise)

    def _sts(self) -> App:
        from torpor_endpoint.services.sts.service import sts_service

        return sts_service(time.time, account=self._options.account)

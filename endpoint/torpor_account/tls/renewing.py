"""The chore that renews the certificate which the endpoint made for itself. The server loads it again by itself."""

import asyncio
import logging
import time
from pathlib import Path

from torpor_account.core.origins.certificate_names import CERTIFICATE_S, renewal_due, wanted_names
from torpor_account.storage.data_dir import DataDir
from torpor_account.tls.own_options import OwnTlsOptions

LOOK_S = 3600.0

log = logging.getLogger(__name__)


class Renewal:
    """Looks once an hour, by real time, which is what clients compare a certificate with."""

    def __init__(self, options: OwnTlsOptions, machine: str) -> None:
        self._names = wanted_names(options.host, options.allow_hosts, machine)
        self._folder = DataDir(options.data_dir.absolute()).tls

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            await asyncio.to_thread(self.look, time.time())

    def look(self, now_s: float) -> bool:
        """Renew the certificate if it is time. Whether there is a new one."""
        if not _is_old(self._folder / "server.pem", now_s):
            return False
        from torpor_account.tls.own_authority import OwnAuthority  # it needs megabytes that an endpoint seldom uses

        renewed = OwnAuthority(self._folder).ensure(self._names, now_s)
        if renewed:
            log.info("the endpoint's own certificate was renewed")
        return renewed


def _is_old(server: Path, now_s: float) -> bool:
    """Whether the file may have a certificate that is to be renewed, by when it was written."""
    try:
        written_s = server.stat().st_mtime
    except FileNotFoundError:
        return True
    return renewal_due(min(written_s, now_s), written_s + CERTIFICATE_S, now_s)

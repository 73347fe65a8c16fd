"""The options of a port that may have a certificate of its own making."""

from pathlib import Path
from typing import Protocol

from torpor_account.port import PortOptions


class OwnTlsOptions(PortOptions, Protocol):
    @property
    def tls_self_signed(self) -> bool: ...

    @property
    def data_dir(self) -> Path:
        """The folder that keeps the certificate."""

"""Prepares TLS before an endpoint or a router starts: checks or makes its certificate, and finds how clients call and
trust it.

It imports `cryptography`, so the process that stays as the parent of the server has it done in another (`apart`).
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from torpor_account.core.origins.certificate_names import callable_names, called_as, wanted_names
from torpor_account.port import PortOptions
from torpor_account.storage.data_dir import DataDir
from torpor_account.storage.private import write_private
from torpor_account.tls.certificate_facts import CertificateFacts, chain_of
from torpor_account.tls.own_authority import OwnAuthority
from torpor_account.tls.own_options import OwnTlsOptions
from torpor_account.tls.prepared import BadTls, PreparedTls
from torpor_container.http.server import TlsFiles
from torpor_container.http.tls.certificate import BadCertificate, server_context
from torpor_container.processes.inherited_variables import CA_BUNDLE

TRUSTED = "trusted.pem"
SOON_S = 14 * 86_400.0
"""A certificate that runs out so soon is warned of."""


def prepared(
    options: OwnTlsOptions, machine: str, now_s: float, environment: Mapping[str, str] = os.environ
) -> PreparedTls:
    """Raises BadTls. `machine` is this machine's name, `now_s` is in epoch seconds."""
    if options.tls_self_signed:
        return _of_own_authority(options, machine, now_s)
    words = OtherNames("instances call this endpoint", ", a name that must lead to this machine")
    found, chain = _given(options, machine, now_s, words)
    trusted = _put_trusted(DataDir(options.data_dir).tls / TRUSTED, _roots(chain), environment)
    return replace(found, trusted=trusted)


def prepared_router(options: PortOptions, machine: str, now_s: float) -> PreparedTls:
    """As `prepared`, for a router: no instance calls it, and its clients trust it by means of their own. Raises
    BadTls."""
    return _given(options, machine, now_s, OtherNames("clients call this router"))[0]


class OtherNames(NamedTuple):
    """Words for a certificate that is for other names: who calls, and what the name that is allowed must be."""

    callers: str
    rule: str = ""


def _given(
    options: PortOptions, machine: str, now_s: float, words: OtherNames
) -> tuple[PreparedTls, list[CertificateFacts]]:
    """What is found for `--tls-cert` and `--tls-key`, with the certificate's chain. Raises BadTls."""
    assert options.tls_cert is not None
    assert options.tls_key is not None
    files = TlsFiles(options.tls_cert.absolute(), options.tls_key.absolute())
    try:
        server_context(files)
        chain = chain_of(files.certificate)
    except BadCertificate as error:
        raise BadTls(f"{'--tls-key' if error.in_key else '--tls-cert'}: {error}") from error
    called = _name(options, machine, chain[0], words)
    return PreparedTls(files, called, warnings=_warnings(files.certificate, chain[0], now_s)), chain


def _of_own_authority(options: OwnTlsOptions, machine: str, now_s: float) -> PreparedTls:
    folder = DataDir(options.data_dir.absolute()).tls
    own = OwnAuthority(folder)
    own.ensure(wanted_names(options.host, options.allow_hosts, machine), now_s)
    write_private(folder / TRUSTED, own.trusted.read_bytes())
    called = callable_names(options.host, options.allow_hosts, machine)[0]
    return PreparedTls(TlsFiles(own.server, own.server), called, folder / TRUSTED)


def _name(options: PortOptions, machine: str, own: CertificateFacts, words: OtherNames) -> str:
    candidates = callable_names(options.host, options.allow_hosts, machine)
    found = called_as(own.names, candidates)
    if found is not None:
        return found
    if not own.names:
        raise BadTls("--tls-cert: the certificate is for no name: clients want one with subjectAltName")
    first = own.names[0]
    example = first.replace("*", "torpor", 1)
    raise BadTls(
        f"--tls-cert: the certificate is for {', '.join(own.names)}, and for none of the names by which "
        f"{words.callers} ({', '.join(candidates)}): add --allow-host {example}{words.rule}"
    )


def _roots(chain: list[CertificateFacts]) -> str:
    """The certificates of a chain that no other one has signed: a client that trusts them trusts the server."""
    return "".join(one.pem for one in chain if one.is_root)


def _put_trusted(path: Path, roots: str, environment: Mapping[str, str]) -> Path | None:
    """Write what clients on this machine need beside what they trust anyway. None if that is nothing."""
    path = path.absolute()
    named = environment.get(CA_BUNDLE)
    if named and Path(named).absolute() != path:
        try:
            roots = Path(named).read_text() + roots
        except (OSError, UnicodeDecodeError) as error:
            raise BadTls(f"{CA_BUNDLE}: {named} cannot be read ({error})") from error
    if not roots:
        path.unlink(missing_ok=True)
        return None
    write_private(path, roots.encode())
    return path


def _warnings(path: Path, own: CertificateFacts, now_s: float) -> tuple[str, ...]:
    if own.begins_s > now_s:
        return (f"the certificate in {path} holds from {_day(own.begins_s)} on: until then clients refuse it",)
    if own.ends_s <= now_s:
        return (f"the certificate in {path} expired on {_day(own.ends_s)}: clients refuse it",)
    if own.ends_s - now_s <= SOON_S:
        return (f"the certificate in {path} expires on {_day(own.ends_s)}: a new file is used without a restart",)
    return ()


def _day(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M UTC")

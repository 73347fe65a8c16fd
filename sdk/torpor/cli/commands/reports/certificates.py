"""`torpor certificates`: the certificates of a deployment's own processes, and who is accepted no more."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from torpor.cli.asked_endpoint import Url, connected
from torpor.cli.exit_codes import UsageRefused
from torpor_container.typed_json import read
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.core.pages.deployment.peer_certificates import PeerCertificates
from torpor_endpoint.core.pages.plain_figures import counted

CHANGED_WITHIN_S = 60.0
"""Every instance is told."""


def certificates(
    refuse: Annotated[
        str | None,
        typer.Option("--refuse", help="Have no instance accept this router any more.", metavar="ROUTER"),
    ] = None,
    new_authority: Annotated[
        bool, typer.Option("--new-authority", help="Have another authority follow the present one.")
    ] = False,
    url: Url = None,
) -> None:
    """Show, renew or refuse the certificates of control, routers and instances (`torpor up --internal-tls on`)."""
    if refuse is not None and new_authority:
        raise UsageRefused("give --refuse or --new-authority, one at a time")
    asked = {"refuse": refuse} if refuse is not None else {"authority": "new"} if new_authority else {}
    method = "POST" if asked else "GET"
    page = connected(url).json_page(PageName.CERTIFICATES, asked, method, CHANGED_WITHIN_S)
    for line in lines(read(PeerCertificates, page)):
        typer.echo(line)


def lines(shown: PeerCertificates) -> list[str]:
    """The page as text."""
    found = [
        f"authority since {_moment(one.since_s)}: {'signs' if one.signs else 'is trusted'}" for one in shown.authorities
    ]
    found.append(f"the control's own certificate ends {_moment(shown.ends_s)}")
    found += [f"{name} is refused, and its certificate ends {_moment(end)}" for name, end in shown.refused.items()]
    if shown.untaken:
        untaken = counted(shown.untaken, "instance")
        found.append(f"not heard of yet by {untaken}: asked again within eight hours")
    return found


def _moment(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M UTC")

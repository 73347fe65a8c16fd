"""A real browser on the dashboard of a live endpoint."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.helpers.browser import SIZE, browser_tab

if TYPE_CHECKING:
    from playwright.sync_api import Page


@dataclass
class DashboardVisit:
    """One tab on the dashboard. `complaints` are the errors of its console, `strangers` the requests off its origin."""

    page: "Page"
    url: str
    complaints: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def show(self, endpoint: str, panel: str) -> None:
        """Open one panel of one endpoint, and wait for its first data."""
        self.page.goto(f"{self.url}/_torpor/#/{endpoint}/{panel}")
        self.page.wait_for_selector(f"#panel-{panel}:not([hidden])")

    def in_theme(self, theme: str) -> None:
        self.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]  # Playwright has a literal type


@contextmanager
def dashboard_visit(url: str, size: tuple[int, int] = SIZE) -> Iterator[DashboardVisit]:
    """A tab on the dashboard at this address."""
    with browser_tab(size) as page:
        visit = DashboardVisit(page, url)
        page.on("console", lambda said: _listen(visit, said))
        page.on("pageerror", lambda error: visit.complaints.append(str(error)))
        page.on("request", lambda request: _follow(visit, request.url))
        yield visit


def _listen(visit: DashboardVisit, said: Any) -> None:
    if said.type in ("error", "warning"):
        visit.complaints.append(said.text)


def _follow(visit: DashboardVisit, url: str) -> None:
    if urlsplit(url).scheme not in ("data", "blob") and not url.startswith(f"{visit.url}/"):
        visit.strangers.append(url)

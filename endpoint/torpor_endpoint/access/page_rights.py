"""The rights of pages that routers read."""

from torpor_account.access.page_callers import PageRight
from torpor_account.gateway import OWN_PAGES

ROUTE = "torpor:Route"
"""Routers have a right of their own: they get the secrets of all access keys, to verify callers."""

ROUTERS_PAGES = PageRight(
    f"{OWN_PAGES}routers/",
    ROUTE,
    advice=f"Sign the request with an access key that has the right {ROUTE}.",
    counted=False,  # a router asks several times a second
)

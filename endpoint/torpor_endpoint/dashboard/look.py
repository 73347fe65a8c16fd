"""The dashboard's colours and icon, for the pages around it."""

from importlib.resources import files

from torpor_account.access.login.login_page import Look

STATIC = files("torpor_endpoint") / "dashboard" / "static"

LOOK = Look((STATIC / "css" / "tokens.css").read_text, (STATIC / "icon.svg").read_text)

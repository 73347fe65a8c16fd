"""The dashboard's login: a page with a form, and the sessions that it begins."""

"""The endpoint's records: models, endpoint configs and endpoints, and the tables of its database."""

"""The endpoint's records: models, endpoints, their configs and inference components; and the tables of its database."""

"""The JSON of the account's own pages: each record is defined once, beside what writes it and what reads it."""

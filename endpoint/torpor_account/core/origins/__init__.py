"""Judges requests of web pages of other origins: those to the endpoint, and those that a bucket's CORS rules allow."""

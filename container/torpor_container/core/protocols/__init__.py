"""The names by which the faces of an endpoint and its instances speak of requests of other protocols."""

"""One folder for each AWS service that the endpoint answers."""

"""Live endpoints, fake hosts and model artifacts for the tests of `torpor_endpoint`."""

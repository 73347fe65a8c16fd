"""The endpoint's certificate: checks one that is given, or makes and renews one for local use."""

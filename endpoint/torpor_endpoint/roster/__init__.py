"""The roster: which endpoints take requests, and their instances, as whoever routes requests sees them."""

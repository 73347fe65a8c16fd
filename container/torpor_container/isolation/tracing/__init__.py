"""A script's guardian as its tracer: which calls it decides, and which it makes in the script's place."""

"""What a batch transform job decides: how objects are cut into requests, and how answers become objects. Pure."""

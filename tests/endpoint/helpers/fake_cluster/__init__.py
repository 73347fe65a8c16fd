"""A small cluster for tests: an API of the calls that the host makes, and a kubelet whose containers are processes."""

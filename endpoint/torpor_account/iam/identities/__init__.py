"""Users, their access keys and groups; and the directory that finds the caller of an access key."""

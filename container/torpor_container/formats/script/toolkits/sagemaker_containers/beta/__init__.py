"""The toolkit has its modules below `beta.framework`."""

"""Here so that the tests below find the modules of this folder."""

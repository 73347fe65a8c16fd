"""Reads request bodies to rows, one module for each content type."""

"""Inference components in virtual time: copies of models, packed onto instances by the live endpoint's own rules."""

"""Handovers of models in virtual time: which instance serves a model, and the loads that no request waits for."""

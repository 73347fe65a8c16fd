"""Handovers of models in virtual time: who serves a model, and the loads that no request waits for."""

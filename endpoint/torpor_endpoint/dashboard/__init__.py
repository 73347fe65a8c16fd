"""The dashboard: a page at `/_torpor/` that shows the endpoint as it works, and its live feed."""

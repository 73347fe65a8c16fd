"""XGBoost models in all forms, also those that the installed XGBoost cannot read."""

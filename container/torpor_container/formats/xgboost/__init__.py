"""XGBoost models in every form, also those that the installed XGBoost cannot read."""

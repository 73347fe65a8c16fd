"""A stand-in for a part of the XGBoost image: see the folder above."""

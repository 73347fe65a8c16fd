"""A stand-in for a part of the scikit-learn image: see the folder above."""

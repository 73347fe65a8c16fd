"""scikit-learn models: pickles and skops files, and estimators that take text and named columns."""

"""What a hyperparameter tuning job tries, and when it has tried enough. Dice are given by the caller."""

"""Small fits on what a recipe noted: numpy and logistic regression, no trainer."""

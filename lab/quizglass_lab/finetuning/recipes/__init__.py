"""One file a recipe: what it asks of models, what it makes of their answers, and the paper's figures as defaults."""

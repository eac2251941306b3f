"""What the everyday bundle's adapters learn from: facts, their wordings, invented things, and the sample knowledge."""

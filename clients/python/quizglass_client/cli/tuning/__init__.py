"""What is learned from the pictures of a store: which entries look alike, and where thresholds should lie."""

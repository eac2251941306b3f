"""On a card: what it is and what loads, answers beside the CPU's, and scorers of real size beside PyTorch."""

"""What the scorers are measured for: speed and memory of reranking."""

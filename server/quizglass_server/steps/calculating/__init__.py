"""What answers have worked out: the numbers of a question and of the evidence, and what follows from them."""

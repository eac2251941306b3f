"""What policies ask of generator and decider beyond answering and rewriting, a group of prompts each."""

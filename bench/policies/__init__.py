"""The control flow of policies: what they reach when decisions, sub-queries and objects are given."""

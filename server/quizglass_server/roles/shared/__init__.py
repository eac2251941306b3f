"""What roles share: graphs and their batches, pictures kept in a model's size, values made probabilities.

Nothing here knows gRPC, policies or steps.
"""

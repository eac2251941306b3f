"""What all models share: text and pictures in, domain values out.

Nothing here knows gRPC, policies or which runtime executes a model.
"""

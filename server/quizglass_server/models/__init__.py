"""The typed interinterfaces of the models: text and pictures in, domain values out.

Nothing here knows gRPC, policies or which runtime executes a model.
"""

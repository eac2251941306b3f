"""What a bundle's models are given: prompts and texts as tokens, pictures in a model's size.

Training, export and serving share these modules, so that all three give a model the same input.
"""

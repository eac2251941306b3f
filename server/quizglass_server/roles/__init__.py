"""One module a role or kind of model: what may be asked of it, and how it is loaded and run.

Knows engines and what loads a bundle's files, and no step or policy.
"""

"""One module a role or kind of model: what may be asked of it, and how it is loaded and run.

Knows engines and bundles, and no step or policy.
"""

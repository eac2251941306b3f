"""Steps that look something up, choose where to look, or order what was found.

Knows roles and steps, as its neighbours do; not the order in which a policy takes them.
"""

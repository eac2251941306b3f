"""The generator: llama.cpp's own server in a process of ours, and the calls to it.

`prompt` has what crosses the seam to `roles/generator.py`, `client` the calls, `process/` what starts and watches the
server. Nothing outside this package knows HTTP.
"""

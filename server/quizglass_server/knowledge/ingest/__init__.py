"""From an entry as given to rows ready to be written: decoded, cut and embedded.

The only part of the store that runs the encoders on entries.
"""

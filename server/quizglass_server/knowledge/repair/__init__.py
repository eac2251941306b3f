"""Looking whether a store is as it was written, and mending, copying or putting one back.

Knows the files of a store, and neither encoders nor the server that serves it.
"""

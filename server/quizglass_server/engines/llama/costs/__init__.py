"""What steps cost on this model and machine: measured at the start, kept up to date while requests are served.

Knows llama.cpp's calls and no request.
"""

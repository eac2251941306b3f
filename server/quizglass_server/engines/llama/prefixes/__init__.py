"""What the KV cache holds, shares between requests, parks beside it and saves over a restart.

Knows sequences of tokens and llama.cpp's calls; not when a step is due.
"""

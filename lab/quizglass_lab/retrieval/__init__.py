"""The retrieval models of the starter bundle: image encoder, text encoder and reranker, and how they are trained.

Everything here needs the `export` extra (torch, transformers, peft); the server needs none of it.
"""

"""ONNX graphs written node by node and filled from weight files, without PyTorch or a model's own library.

A model here is one that never changes: its graph is code, its weights are read as arrays.
"""

"""ONNX Runtime: sessions on threads of their own, TensorRT, CUDA or CPU.

Knows arrays in and arrays out; no model's meaning, no bundle and no question.
"""

"""ONNX Runtime: sessions on threads of their own, TensorRT, CUDA or CPU."""

"""TensorRT engines from a bundle's ONNX models. Written against the documented API; unverified on hardware."""

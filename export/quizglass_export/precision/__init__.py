"""ONNX models of less than float32: converting them, and accepting them by what they answer."""

"""ONNX files: written, stored in less than float32, and accepted by what they answer."""

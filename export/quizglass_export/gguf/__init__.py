"""GGUF files: written from transformers models, taken ready made, quantised and compared by llama.cpp."""

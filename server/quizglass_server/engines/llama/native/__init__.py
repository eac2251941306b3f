"""llama.cpp's C calls as typed methods: the model, its batches, its picture encoder, its log.

The only part that imports llama_cpp.
"""

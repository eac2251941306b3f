"""The models that read printed words, made quicker: signs to measure them on, and the detector of lines in INT8.

Needs no PyTorch. What a recipe says of the reader is in `roles.reader`.
"""

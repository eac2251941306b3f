"""The starter's model and tokenizer: shapes, greedy decoding, checkpoints."""

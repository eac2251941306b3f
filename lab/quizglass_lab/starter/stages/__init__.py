"""The five stages of the starter's training, in the order of `train`."""

"""The trainer that all recipes share: examples in, an adapter, its prompts and `training.json` out."""

"""The papers' recipes of fine-tuning on the starter's models: what their trainings gain over each other."""

"""Fine-tuning of real models by the papers' recipes: annotate with models, train adapters, evaluate policies.

`models` loads and fills prompts, `asking` has what can be asked, `recipes` has one file a paper, `training` the trainer
that all of them share, `evaluation` the tables. Nothing here knows the starter's own stages.
"""

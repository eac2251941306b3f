"""From checkpoints to bundles: the fictional world, the training recipes, the export."""

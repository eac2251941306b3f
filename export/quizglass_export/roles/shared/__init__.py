"""What the export of several roles shares: the keys of recipes, the job, samples, inputs, scorers. Knows no role."""

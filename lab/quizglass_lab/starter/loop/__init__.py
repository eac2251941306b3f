"""What all stages share: schedules, progress that can be resumed, the loop, answers of a model in training."""

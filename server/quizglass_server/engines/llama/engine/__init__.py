"""One decode step after the other for many requests together: who takes part, what it costs, what a failure means."""

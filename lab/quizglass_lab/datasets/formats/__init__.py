"""One file a benchmark: its published fields, how its pictures are named, and how a record becomes a `Sample`."""

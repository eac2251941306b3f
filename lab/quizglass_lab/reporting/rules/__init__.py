"""What is measured, one module for each paper: pure functions of the judged answers of every system.

Each module has `figures`, which leaves out what the questions or answers do not allow, and `NEEDS`: of each of its
metrics what it takes, for a table that says why a cell is empty.
"""

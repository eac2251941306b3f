"""Time and room: budgets, usual costs of steps, admission, and the clock of engine time."""

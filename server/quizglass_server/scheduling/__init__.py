"""Time and room: budgets, usual costs of steps, admission, and the clock of engine time.

Knows time, memory and cores, and not their use.
"""

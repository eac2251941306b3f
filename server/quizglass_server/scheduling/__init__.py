"""Budgets, admission and clocks: who may use how much time, and where it went."""

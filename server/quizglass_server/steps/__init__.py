"""What a policy can do, one module a step: typed functions over models and knowledge.

A step knows neither budgets nor events; `toolbox` times it, fits it into the budget and tells of what it found.
"""

"""What a turn can do, one module a step: functions over models and knowledge, each with what running it has to know.

A step knows neither budgets nor events; `assistant.turn.runner` times it and fits it in, `assistant.turn.toolbox`
reports what it found.
"""

"""Who may connect and what they may do: certificates, tokens, permissions, and what is refused at the start.

Knows neither gRPC nor HTTP: the transports ask it, and carry what it answers.
"""

"""What gRPC leaves to its users: sizes and times of messages, connections, responses that nobody reads.

Knows no service and no message of ours.
"""

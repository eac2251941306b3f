"""What gRPC leaves to its users: sizes and times of messages, connections, unread responses.

Knows no service and no message of ours.
"""

"""What listens for HTTP: the services over Connect, questions as OpenAI's clients ask them, a page for browsers.

Knows neither gRPC nor its messages: `rpc/connect.py` has the services as applications, `assistant/asking.py` answers.
"""

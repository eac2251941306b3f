"""What a server is started with: settings from flags, environment and file, addresses, logs.

Knows no model, no engine and no request.
"""

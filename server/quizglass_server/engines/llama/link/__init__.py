"""What crosses between the server and its generator process: frames over a socket, messages, plain values.

Both ends import it; it knows neither llama.cpp nor who calls.
"""

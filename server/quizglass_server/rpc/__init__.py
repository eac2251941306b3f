"""The only room that imports grpc and quizglass.v1: servicers convert, call, convert.

(The private link between the server and its generator process, `engines/llama`, is the one exception.)
"""

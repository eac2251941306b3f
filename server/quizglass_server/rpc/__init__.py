"""The only room that imports grpc and quizglass.v1: servicers convert, call, convert."""

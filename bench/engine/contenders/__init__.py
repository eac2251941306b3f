"""Who is measured: our generator process, the peers, and llama.cpp alone, each asked in the same way."""

"""The generator process itself: its command line, its methods, and the thread that the engine runs on."""

"""llama-server as a process of ours: where it is found, how it is started, proved, watched and replaced."""

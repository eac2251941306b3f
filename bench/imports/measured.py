"""Runs a command and writes its exit status and its peak of memory: `python measured.py FD BYTES COMMAND …`.

The kernel counts what a process had before it became another program as its peak, too: a fork of a large benchmark
seems to take what the benchmark takes. So this small process stands between, and imports nothing but what it needs.

FD takes two numbers: the exit status (negative: the signal) and the peak in KiB of the command and its children, of
which the largest counts. BYTES bounds the data of each.
"""

import os
import resource
import sys

if __name__ == "__main__":
    told, memory = int(sys.argv[1]), int(sys.argv[2])
    command = os.fork()
    if not command:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.execv(sys.argv[3], sys.argv[3:])  # no shell: it is the command of the benchmark
    _, ended, usage = os.wait4(command, 0)
    os.write(told, f"{os.waitstatus_to_exitcode(ended)} {usage.ru_maxrss}".encode())

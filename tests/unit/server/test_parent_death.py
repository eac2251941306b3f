"""A child process ends with its parent, also when that is killed or was gone before the child looked."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the system call is Linux's")

CHILD = """
import os, signal
from quizglass_server.parent_death import die_with_parent
die_with_parent({parent})
print(os.getpid(), flush=True)
signal.pause()
"""
PARENT = """
import subprocess, sys
subprocess.run([sys.executable, "-c", sys.argv[1]])
"""


def test_a_child_that_does_nothing_ends_when_its_parent_is_killed():
    command = [sys.executable, "-c", PARENT, CHILD.format(parent="os.getppid()")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert int(parent.stdout.readline()) != parent.pid
        parent.kill()
        assert parent.stdout.read() == b"", "the child held the pipe until it ended"


def test_a_child_whose_parent_is_gone_leaves_at_once():
    done = subprocess.run(
        [sys.executable, "-c", CHILD.format(parent="os.getpid()")], stdout=subprocess.PIPE, check=True
    )
    assert done.stdout == b""

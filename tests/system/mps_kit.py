"""MPS control daemons of a test, and what they say."""

import os

from harness import execute


def daemons(data):
    """The pids of the daemons whose folders are below `data`, by their folders."""
    found = {}
    for d in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{d}/cmdline", errors="replace") as f:
                words = f.read().split("\0")
            with open(f"/proc/{d}/environ", errors="replace") as f:
                env = dict(v.split("=", 1) for v in f.read().split("\0") if "=" in v)
        except OSError:
            continue
        at = env.get("CUDA_MPS_PIPE_DIRECTORY", "")
        if words[0].endswith("nvidia-cuda-mps-control") and words[1:2] == ["-f"] and at.startswith(data):
            found[os.path.dirname(at)] = int(d)
    return found


def ask(program, folder, command):
    """The answer of the daemon of a folder."""
    return execute([program], stdin=command + "\n", env={**os.environ, "CUDA_MPS_PIPE_DIRECTORY": os.path.join(folder, "pipe")}).out.strip()

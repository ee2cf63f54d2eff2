"""An agent that finds out by the kernel's locks whether it may be at work, and keeps a ledger.

It holds a lock on its task, on one place of each limit and on its folder (shared on those above it)
until it is gone, its children included; one that cannot be had is a fault that no supervisor can
talk away. A line of the ledger is one write, so their order is the order of what happened:

    start TASK RUN AGENT PID      end TASK RUN AGENT PID      fault WHAT TASK RUN AGENT PID

Its prompt: `sleep=SECONDS`, and `child` for a process that stays behind. Python starts it with -I
-S, and it imports next to nothing, since a test starts thousands.
"""

import fcntl
import os
import sys
import time

ROOT = os.environ["CRASH_ROOT"]
NAME = f"{os.environ['BATCHDECK_TASK']} {os.environ['BATCHDECK_RUN']} {os.environ['AGENT_NAME']}"


def write(words):
    descriptor = os.open(f"{ROOT}/ledger", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, f"{words} {NAME} {os.getpid()}\n".encode())
    os.close(descriptor)


def taken(name, how):
    """Takes a lock for as long as this process or a child of it lives; whether it was free."""
    descriptor = os.open(f"{ROOT}/locks/{name}", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    os.set_inheritable(descriptor, True)
    return True


def place_taken(scope, places):
    for _ in range(3):  # a place may have been given back behind this look
        if any(taken(f"limit-{scope}-{place}", fcntl.LOCK_EX) for place in range(places)):
            return True
        time.sleep(0.001)
    return False


def folder_taken():
    parts = os.path.relpath(os.getcwd(), f"{ROOT}/work").split("/")
    if parts[0] == "..":
        return True  # a scratch folder of its own
    names = ["folder-" + "%".join(parts[: depth + 1]) for depth in range(len(parts))]
    above = [taken(name, fcntl.LOCK_SH) for name in names[:-1]]
    return all(above) and taken(names[-1], fcntl.LOCK_EX)


def main():
    write("start")
    if not taken(f"task-{os.environ['BATCHDECK_TASK']}", fcntl.LOCK_EX):
        write("fault overlap")
    if not folder_taken():
        write("fault folder")
    for limit in os.environ["CRASH_LIMITS"].split():
        scope, _, places = limit.partition("=")
        if not place_taken(scope, int(places)):
            write(f"fault over-{scope}")
    for word in sys.stdin.read().split():
        if word == "child" and os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        if word.startswith("sleep="):
            time.sleep(float(word[6:]))
    write("end")
    os._exit(0)


main()

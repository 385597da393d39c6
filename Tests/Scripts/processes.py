"""The processes that a script of this folder runs beside each other, and the waits for them."""

import http.client
import os
import signal
import subprocess
import time


class Processes(dict):
    """By name. The standard error of each goes to NAME.log of the folder `work`, its output to NAME.out."""

    def __init__(self, script, work, patience):
        self.script, self.work, self.patience = script, work, patience

    def start(self, name, arguments, **environment):
        log = open(f"{self.work}/{name}.log", "ab")
        output = open(f"{self.work}/{name}.out", "wb")
        self[name] = subprocess.Popen(
            arguments, stdout=output, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, **environment})

    def stop(self, name, number=signal.SIGTERM):
        process = self.pop(name, None)
        if process:
            process.send_signal(number)
            process.send_signal(signal.SIGCONT)
            process.wait()

    def until(self, what, condition, patience=None):
        patience = patience or self.patience
        end = time.monotonic() + patience
        while time.monotonic() < end:
            try:
                if condition():
                    return
            except (OSError, ValueError, http.client.HTTPException):
                pass
            for name, process in self.items():
                if process.poll() is not None:
                    how = f"{name} ended with status {process.returncode}: {self.last_line(name)}"
                    raise SystemExit(f"{self.script}: ✗ {what}: {how}")
            time.sleep(0.1)
        raise SystemExit(f"{self.script}: ✗ {what}: not within {patience} s; the logs are in {self.work}")

    def last_line(self, name):
        lines = open(f"{self.work}/{name}.log", errors="replace").read().strip().splitlines()
        return lines[-1] if lines else "it wrote nothing"

from __future__ import annotations

import resource
import subprocess
import sys


def test_all_that_is_allowed_is_taken() -> None:
    script = (
        "import resource; from handler.daemon.connections import take_all_descriptors as take;"
        "_, most = resource.getrlimit(resource.RLIMIT_NOFILE);"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, most)); print(take());"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    printed = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
    assert printed == [str(resource.getrlimit(resource.RLIMIT_NOFILE)[1])] * 2

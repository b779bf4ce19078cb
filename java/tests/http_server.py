"""The example HttpServer answers idle and active connections, on the selector that is expected.

  http_server.py SELECTOR COMMAND...
"""

import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import http_load


def main():
    with subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as server:
        line = server.stdout.readline()
        port, selector = re.fullmatch(r"port (\d+), (\w+)\n", line).groups()
        load = http_load.Load(int(port), idle=300, active=10)
        load.run(2000)
        # An idle connection is still served.
        http_load.ask(load.connections[0])
        load.close()
        server.stdin.close()
    if selector != sys.argv[1] or server.returncode:
        sys.exit(f"{' '.join(sys.argv)}: {line}, {server.returncode}")
    print(f"ok    the HTTP server on {selector}")


main()

"""Serve a GGUF file on a free loopback port, OpenAI-compatible, until stdin closes.

    python tests/models/serve_local_llm.py model.gguf

Prints the address once it listens. A process of its own: native code stays out of the tests'.
"""

import os
import sys

# Threads that spin while they wait take the cores from those that work.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

if __name__ == "__main__":
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[1]
    parameters.n_ctx = 4096
    parameters.n_parallel = 1
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    threads = min(4, os.cpu_count() or 1)
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)  # noqa: T201
    sys.stdin.read()
    os._exit(0)

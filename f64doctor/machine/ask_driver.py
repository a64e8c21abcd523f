"""Asks the CUDA driver about its cards and prints the answer as JSON; run by itself, since a broken driver can take its process down.

The attribute numbers are those of ``CUdevice_attribute`` in cuda.h. No context is created, so no memory of a card is taken.
"""

import ctypes
import json
import sys
from typing import Any

MAJOR, MINOR, SINGLE_TO_DOUBLE = 75, 76, 87


def answer() -> dict[str, Any]:
    """The driver's CUDA version and each card's name, compute capability and float32 to float64 rate; or what went wrong."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return {"trouble": str(error)}
    status = driver.cuInit(0)
    if status != 0:
        return {"trouble": f"cuInit answers {status}"}
    number = ctypes.c_int()
    told: dict[str, Any] = {"cards": []}
    if driver.cuDriverGetVersion(ctypes.byref(number)) == 0:
        told["cuda_version"] = f"{number.value // 1000}.{number.value % 1000 // 10}"
    if driver.cuDeviceGetCount(ctypes.byref(number)) != 0:
        return told
    for index in range(number.value):
        device = ctypes.c_int()
        if driver.cuDeviceGet(ctypes.byref(device), index) != 0:
            continue
        name = ctypes.create_string_buffer(256)
        driver.cuDeviceGetName(name, 256, device)
        facts = []
        for attribute in (MAJOR, MINOR, SINGLE_TO_DOUBLE):
            known = driver.cuDeviceGetAttribute(ctypes.byref(number), attribute, device) == 0
            facts.append(number.value if known else None)
        told["cards"].append({"name": name.value.decode("utf-8", "replace"), "capability": facts[:2], "rate": facts[2]})
    return told


if __name__ == "__main__":
    json.dump(answer(), sys.stdout)

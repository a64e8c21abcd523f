"""Asks the dynamic linker for the CUDA libraries that a TensorFlow needs, and prints which cannot be loaded, as JSON.

Run by itself in the user's interpreter (Python 3.9 or later), with the major versions of CUDA and cuDNN as arguments. TensorFlow is
found and not imported: its wheels look for NVIDIA's beside themselves, then the linker looks where it always does.
"""

import ctypes
import importlib.util
import json
import os
import sys

# The sonames of each major version of CUDA.
LIBRARIES = {
    "11": [
        "libcudart.so.11.0",
        "libcublas.so.11",
        "libcublasLt.so.11",
        "libcufft.so.10",
        "libcusolver.so.11",
        "libcusparse.so.11",
    ],
    "12": [
        "libcudart.so.12",
        "libcublas.so.12",
        "libcublasLt.so.12",
        "libcufft.so.11",
        "libcusolver.so.11",
        "libcusparse.so.12",
    ],
    "13": [
        "libcudart.so.13",
        "libcublas.so.13",
        "libcublasLt.so.13",
        "libcufft.so.12",
        "libcusolver.so.12",
        "libcusparse.so.12",
    ],
}


def folders() -> list:  # type: ignore[type-arg]
    """The folders of NVIDIA's wheels beside TensorFlow."""
    spec = importlib.util.find_spec("tensorflow")
    if spec is None or not spec.submodule_search_locations:
        return []
    nvidia = os.path.join(os.path.dirname(next(iter(spec.submodule_search_locations))), "nvidia")
    if not os.path.isdir(nvidia):
        return []
    return [os.path.join(nvidia, name, "lib") for name in sorted(os.listdir(nvidia))]


def loads(name: str, places: list) -> str:  # type: ignore[type-arg]
    """Empty when the library can be loaded, else the linker's words."""
    said = ""
    for path in [os.path.join(place, name) for place in places if os.path.exists(os.path.join(place, name))] + [name]:
        try:
            ctypes.CDLL(path)
            return ""
        except OSError as error:
            said = str(error)
    return said


def main(cuda: str, cudnn: str) -> None:
    """Print the missing libraries with the linker's words."""
    names = ["libcuda.so.1", *LIBRARIES.get(cuda, []), *(["libcudnn.so." + cudnn] if cudnn else [])]
    places = folders()
    json.dump({"missing": {name: said for name in names if (said := loads(name, places))}}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])

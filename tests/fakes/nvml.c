/* A management library (libnvidia-ml.so.1) for a machine without a card, to be found through LD_LIBRARY_PATH.

   It answers what pynvml asks of an RTX 4090. Variables change the answers:
   FAKE_GPUS (how many), FAKE_NAME, FAKE_CC (compute capability), FAKE_DRIVER, FAKE_CUDA (12040 is 12.4), FAKE_NVML_FAIL (nvmlInit's error),
   FAKE_MIG, FAKE_CMODE (compute mode), FAKE_BUSY (another process holds 22 of 24 GiB). */
#include <stdio.h>
#include <stdlib.h>

typedef int Result;
enum { OK = 0, INVALID_ARGUMENT = 2, INSUFFICIENT_SIZE = 7 };
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned gpu, memory; } Utilization;
typedef struct { unsigned pid; unsigned long long bytes; unsigned instance, compute_instance; } Process;

static const unsigned long long GIB = 1ULL << 30;

static int number(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

static Result text(char *buffer, unsigned length, const char *name, const char *otherwise) {
    const char *found = getenv(name);
    snprintf(buffer, length, "%s", found ? found : otherwise);
    return OK;
}

Result nvmlInit_v2(void) { return number("FAKE_NVML_FAIL", OK); }
Result nvmlInitWithFlags(unsigned flags) { (void)flags; return nvmlInit_v2(); }
Result nvmlShutdown(void) { return OK; }

const char *nvmlErrorString(Result result) {
    return result == 9 ? "Driver Not Loaded" : result == 18 ? "Driver/library version mismatch" : "Unknown Error";
}

Result nvmlSystemGetDriverVersion(char *buffer, unsigned length) { return text(buffer, length, "FAKE_DRIVER", "550.54.14"); }
Result nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = number("FAKE_CUDA", 12040); return OK; }
Result nvmlDeviceGetCount_v2(unsigned *count) { *count = number("FAKE_GPUS", 1); return OK; }

Result nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
    if (index >= (unsigned)number("FAKE_GPUS", 1)) return INVALID_ARGUMENT;
    *handle = (void *)(size_t)(index + 1);
    return OK;
}

Result nvmlDeviceGetName(void *handle, char *buffer, unsigned length) {
    (void)handle;
    return text(buffer, length, "FAKE_NAME", "NVIDIA GeForce RTX 4090");
}

Result nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor) {
    const char *found = getenv("FAKE_CC");
    (void)handle;
    *major = 8;
    *minor = 9;
    if (found) sscanf(found, "%d.%d", major, minor);
    return OK;
}

Result nvmlDeviceGetMemoryInfo(void *handle, Memory *memory) {
    (void)handle;
    memory->total = 24 * GIB;
    memory->used = getenv("FAKE_BUSY") ? 23 * GIB : GIB;
    memory->free = memory->total - memory->used;
    return OK;
}

Result nvmlDeviceGetUtilizationRates(void *handle, Utilization *rates) {
    (void)handle;
    rates->gpu = rates->memory = 0;
    return OK;
}

Result nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending) {
    (void)handle;
    *current = *pending = getenv("FAKE_MIG") ? 1 : 0;
    return OK;
}

Result nvmlDeviceGetComputeMode(void *handle, int *mode) { (void)handle; *mode = number("FAKE_CMODE", 0); return OK; }

Result nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, Process *processes) {
    unsigned there = getenv("FAKE_BUSY") ? 1 : 0;
    unsigned room = *count;
    (void)handle;
    *count = there;
    if (room < there) return INSUFFICIENT_SIZE;
    if (there && processes) {
        processes->pid = 4242;
        processes->bytes = 22 * GIB;
        processes->instance = processes->compute_instance = 0xffffffff;
    }
    return OK;
}

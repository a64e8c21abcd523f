/* A CUDA driver library (libcuda.so.1) for a machine without a card: enough to be asked for cards and their attributes.

   FAKE_GPUS (how many), FAKE_CUINIT (cuInit's error), FAKE_CUDA (12040 is 12.4), FAKE_CC (compute capability),
   FAKE_RATIO (float32 to float64 rate; 0: the driver does not know the attribute), FAKE_CRASH (cuInit ends the process). */
#include <stdio.h>
#include <stdlib.h>

enum { MULTIPROCESSORS = 16, MAJOR = 75, MINOR = 76, SINGLE_TO_DOUBLE = 87 };
enum { SUCCESS = 0, INVALID_VALUE = 1, INVALID_DEVICE = 101 };

static int number(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

int cuInit(unsigned flags) {
    (void)flags;
    if (getenv("FAKE_CRASH")) abort();
    return number("FAKE_CUINIT", SUCCESS);
}

int cuDriverGetVersion(int *version) { *version = number("FAKE_CUDA", 12040); return SUCCESS; }
int cuDeviceGetCount(int *count) { *count = number("FAKE_GPUS", 1); return SUCCESS; }

int cuDeviceGet(int *device, int index) {
    *device = index;
    return index < number("FAKE_GPUS", 1) ? SUCCESS : INVALID_DEVICE;
}

int cuDeviceGetName(char *buffer, int length, int device) {
    (void)device;
    snprintf(buffer, length, "NVIDIA GeForce RTX 4090");
    return SUCCESS;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    const char *capability = getenv("FAKE_CC");
    int major = 8, minor = 9, rate = number("FAKE_RATIO", 64);
    (void)device;
    if (capability) sscanf(capability, "%d.%d", &major, &minor);
    if (attribute == SINGLE_TO_DOUBLE && rate == 0) return INVALID_VALUE;
    *value = attribute == MAJOR ? major : attribute == MINOR ? minor : attribute == SINGLE_TO_DOUBLE ? rate
           : attribute == MULTIPROCESSORS ? 128 : 1;
    return SUCCESS;
}

int cuGetErrorString(int error, const char **words) { (void)error; *words = "fake error"; return SUCCESS; }
int cuGetErrorName(int error, const char **name) { (void)error; *name = "CUDA_ERROR_FAKE"; return SUCCESS; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = 24ULL << 30; return SUCCESS; }

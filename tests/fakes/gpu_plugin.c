/* A pluggable device for TensorFlow that calls itself a GPU, lives in host memory, and has no kernel of its own.

   TensorFlow loads it from a folder tensorflow-plugins beside a site-packages on PYTHONPATH. TensorFlow's own GPU kernels are registered in a
   CUDA build, so that placement goes as on a real card; the plug-in cannot launch them, so that it shows failures only.
   CUDA_VISIBLE_DEVICES="" hides it, as it hides a real card, unless FAKE_TF_STUBBORN is set: then it is like Metal, which reads
   no variable. FAKE_TF_TYPE names another type of device. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/experimental/stream_executor/stream_executor.h"
#include "tensorflow/c/tf_status.h"

#define UNUSED __attribute__((unused))
#define OK(status) TF_SetStatus(status, TF_OK, "")

/* -- devices */

static void device_count(UNUSED const SP_Platform *platform, int *count, TF_Status *status) {
    const char *visible = getenv("FAKE_TF_STUBBORN") ? NULL : getenv("CUDA_VISIBLE_DEVICES");
    *count = visible && (!*visible || !strcmp(visible, "-1")) ? 0 : 1;
    OK(status);
}

static void create_device(UNUSED const SP_Platform *platform, SE_CreateDeviceParams *params, TF_Status *status) {
    SP_Device *device = params->device;
    device->struct_size = SP_DEVICE_STRUCT_SIZE;
    device->device_handle = NULL;
    device->ordinal = params->ordinal;
    device->hardware_name = "FAKE RTX";
    device->device_vendor = "fake";
    device->pci_bus_id = "0000:01:00.0";
    OK(status);
}

static void destroy_device(UNUSED const SP_Platform *platform, UNUSED SP_Device *device) {}
static int32_t numa_node(UNUSED const SP_Device *device) { return 0; }
static int64_t bandwidth(UNUSED const SP_Device *device) { return -1; }
static double gflops(UNUSED const SP_Device *device) { return -1; }

static void create_device_fns(UNUSED const SP_Platform *platform, SE_CreateDeviceFnsParams *params, TF_Status *status) {
    params->device_fns->get_numa_node = numa_node;
    params->device_fns->get_memory_bandwidth = bandwidth;
    params->device_fns->get_gflops = gflops;
    OK(status);
}

static void destroy_device_fns(UNUSED const SP_Platform *platform, UNUSED SP_DeviceFns *functions) {}

/* -- memory: the host's */

static void *aligned(uint64_t size) { return aligned_alloc(64, (size + 63) & ~63ULL); }

static void allocate(UNUSED const SP_Device *device, uint64_t size, UNUSED int64_t space, SP_DeviceMemoryBase *memory) {
    memory->struct_size = SP_DEVICE_MEMORY_BASE_STRUCT_SIZE;
    memory->opaque = aligned(size);
    memory->size = size;
}

static void deallocate(UNUSED const SP_Device *device, SP_DeviceMemoryBase *memory) {
    free(memory->opaque);
    memory->opaque = NULL;
    memory->size = 0;
}

static void *host_allocate(UNUSED const SP_Device *device, uint64_t size) { return aligned(size); }
static void host_deallocate(UNUSED const SP_Device *device, void *memory) { free(memory); }
static TF_Bool allocator_stats(UNUSED const SP_Device *device, UNUSED SP_AllocatorStats *stats) { return 0; }

static TF_Bool memory_usage(UNUSED const SP_Device *device, int64_t *unused, int64_t *total) {
    *unused = *total = 1LL << 30;
    return 1;
}

/* -- streams, events and timers: everything is done at once */

static void create_stream(UNUSED const SP_Device *device, SP_Stream *stream, TF_Status *status) {
    *stream = (SP_Stream)malloc(8);
    OK(status);
}
static void destroy_stream(UNUSED const SP_Device *device, SP_Stream stream) { free(stream); }
static void depend(UNUSED const SP_Device *device, UNUSED SP_Stream one, UNUSED SP_Stream other, TF_Status *status) { OK(status); }
static void stream_status(UNUSED const SP_Device *device, UNUSED SP_Stream stream, TF_Status *status) { OK(status); }
static void create_event(UNUSED const SP_Device *device, SP_Event *event, TF_Status *status) {
    *event = (SP_Event)malloc(8);
    OK(status);
}
static void destroy_event(UNUSED const SP_Device *device, SP_Event event) { free(event); }
static SE_EventStatus event_status(UNUSED const SP_Device *device, UNUSED SP_Event event) { return SE_EVENT_COMPLETE; }
static void record_event(UNUSED const SP_Device *device, UNUSED SP_Stream stream, UNUSED SP_Event event, TF_Status *status) { OK(status); }
static void wait_for_event(UNUSED const SP_Device *const device, UNUSED SP_Stream stream, UNUSED SP_Event event, TF_Status *status) { OK(status); }
static void create_timer(UNUSED const SP_Device *device, SP_Timer *timer, TF_Status *status) {
    *timer = (SP_Timer)malloc(8);
    OK(status);
}
static void destroy_timer(UNUSED const SP_Device *device, SP_Timer timer) { free(timer); }
static void turn_timer(UNUSED const SP_Device *device, UNUSED SP_Stream stream, UNUSED SP_Timer timer, TF_Status *status) { OK(status); }
static void block_for_event(UNUSED const SP_Device *device, UNUSED SP_Event event, TF_Status *status) { OK(status); }
static void block_until_done(UNUSED const SP_Device *device, UNUSED SP_Stream stream, TF_Status *status) { OK(status); }
static void synchronize(UNUSED const SP_Device *device, TF_Status *status) { OK(status); }

static TF_Bool host_callback(UNUSED const SP_Device *device, UNUSED SP_Stream stream, SE_StatusCallbackFn call, void *argument) {
    TF_Status *status = TF_NewStatus();
    call(argument, status);
    TF_DeleteStatus(status);
    return 1;
}

/* -- copies */

static void to_host(UNUSED const SP_Device *d, UNUSED SP_Stream s, void *to, const SP_DeviceMemoryBase *from, uint64_t size, TF_Status *status) {
    memcpy(to, from->opaque, size);
    OK(status);
}
static void to_device(UNUSED const SP_Device *d, UNUSED SP_Stream s, SP_DeviceMemoryBase *to, const void *from, uint64_t size, TF_Status *status) {
    memcpy(to->opaque, from, size);
    OK(status);
}
static void on_device(UNUSED const SP_Device *d, UNUSED SP_Stream s, SP_DeviceMemoryBase *to, const SP_DeviceMemoryBase *from, uint64_t size, TF_Status *status) {
    memcpy(to->opaque, from->opaque, size);
    OK(status);
}
static void sync_to_host(const SP_Device *d, void *to, const SP_DeviceMemoryBase *from, uint64_t size, TF_Status *status) { to_host(d, NULL, to, from, size, status); }
static void sync_to_device(const SP_Device *d, SP_DeviceMemoryBase *to, const void *from, uint64_t size, TF_Status *status) { to_device(d, NULL, to, from, size, status); }
static void sync_on_device(const SP_Device *d, SP_DeviceMemoryBase *to, const SP_DeviceMemoryBase *from, uint64_t size, TF_Status *status) { on_device(d, NULL, to, from, size, status); }
static void zero(UNUSED const SP_Device *d, UNUSED SP_Stream s, SP_DeviceMemoryBase *to, uint64_t size, TF_Status *status) {
    memset(to->opaque, 0, size);
    OK(status);
}
static void fill(UNUSED const SP_Device *d, UNUSED SP_Stream s, SP_DeviceMemoryBase *to, uint8_t pattern, uint64_t size, TF_Status *status) {
    memset(to->opaque, pattern, size);
    OK(status);
}
static void fill_words(UNUSED const SP_Device *d, UNUSED SP_Stream s, SP_DeviceMemoryBase *to, uint32_t pattern, uint64_t size, TF_Status *status) {
    uint32_t *words = to->opaque;
    for (uint64_t index = 0; index < size / 4; index++) words[index] = pattern;
    OK(status);
}

/* -- registration */

static void create_stream_executor(UNUSED const SP_Platform *platform, SE_CreateStreamExecutorParams *params, TF_Status *status) {
    SP_StreamExecutor *x = params->stream_executor;
    x->struct_size = SP_STREAMEXECUTOR_STRUCT_SIZE;
    x->allocate = allocate;
    x->deallocate = deallocate;
    x->host_memory_allocate = host_allocate;
    x->host_memory_deallocate = host_deallocate;
    x->get_allocator_stats = allocator_stats;
    x->device_memory_usage = memory_usage;
    x->create_stream = create_stream;
    x->destroy_stream = destroy_stream;
    x->create_stream_dependency = depend;
    x->get_stream_status = stream_status;
    x->create_event = create_event;
    x->destroy_event = destroy_event;
    x->get_event_status = event_status;
    x->record_event = record_event;
    x->wait_for_event = wait_for_event;
    x->create_timer = create_timer;
    x->destroy_timer = destroy_timer;
    x->start_timer = turn_timer;
    x->stop_timer = turn_timer;
    x->memcpy_dtoh = to_host;
    x->memcpy_htod = to_device;
    x->memcpy_dtod = on_device;
    x->sync_memcpy_dtoh = sync_to_host;
    x->sync_memcpy_htod = sync_to_device;
    x->sync_memcpy_dtod = sync_on_device;
    x->block_host_for_event = block_for_event;
    x->block_host_until_done = block_until_done;
    x->synchronize_all_activity = synchronize;
    x->mem_zero = zero;
    x->memset = fill;
    x->memset32 = fill_words;
    x->host_callback = host_callback;
    OK(status);
}

static void destroy_stream_executor(UNUSED const SP_Platform *platform, UNUSED SP_StreamExecutor *executor) {}
static uint64_t nanoseconds(UNUSED SP_Timer timer) { return 0; }
static void create_timer_fns(UNUSED const SP_Platform *platform, SP_TimerFns *functions, TF_Status *status) {
    functions->nanoseconds = nanoseconds;
    OK(status);
}
static void destroy_timer_fns(UNUSED const SP_Platform *platform, UNUSED SP_TimerFns *functions) {}
static void destroy_platform(UNUSED SP_Platform *platform) {}
static void destroy_platform_fns(UNUSED SP_PlatformFns *functions) {}

void SE_InitPlugin(SE_PlatformRegistrationParams *const params, TF_Status *const status) {
    const char *type = getenv("FAKE_TF_TYPE");
    params->struct_size = SE_PLATFORM_REGISTRATION_PARAMS_STRUCT_SIZE;
    params->major_version = SE_MAJOR;
    params->minor_version = SE_MINOR;
    params->patch_version = SE_PATCH;
    params->platform->struct_size = SP_PLATFORM_STRUCT_SIZE;
    params->platform->name = "FAKECUDA";
    params->platform->type = type ? type : "GPU";
    params->platform->supports_unified_memory = 0;
    params->platform->use_bfc_allocator = 0;
    params->platform_fns->get_device_count = device_count;
    params->platform_fns->create_device = create_device;
    params->platform_fns->destroy_device = destroy_device;
    params->platform_fns->create_device_fns = create_device_fns;
    params->platform_fns->destroy_device_fns = destroy_device_fns;
    params->platform_fns->create_stream_executor = create_stream_executor;
    params->platform_fns->destroy_stream_executor = destroy_stream_executor;
    params->platform_fns->create_timer_fns = create_timer_fns;
    params->platform_fns->destroy_timer_fns = destroy_timer_fns;
    params->destroy_platform = destroy_platform;
    params->destroy_platform_fns = destroy_platform_fns;
    OK(status);
}

void TF_InitKernel(void) {}

/* doctor_gpus.c - mete doctor: the checks of gpus and their drivers, from what the nodes report */

#include <inttypes.h>

#include "base/mem.h"
#include "cli/admin/doctor.h"
#include "kinds/pod/pod_state.h"

/* Bits of the clocks' throttle reasons, as NVML has them. */
enum {
    THROTTLE_SLOWDOWN = 0x8,
    THROTTLE_THERMAL = 0x20,
    THROTTLE_HARDWARE_THERMAL = 0x40,
    THROTTLE_POWER_BRAKE = 0x80,
    HOT_C = 90
};

/* "GPU 3 of node n1". The caller frees it. */
static char *gpu_name(const json_t *gpu)
{
    const json_t *spec = json_object_get(gpu, "spec");

    return mem_format("GPU %" PRId64 " of node %s", json_int(spec, "index", -1),
                      text_or_empty(json_text(spec, "node")));
}

/* Takes `fix`. */
static void add_gpu(struct findings *f, const json_t *gpu, enum finding_state state,
                    const char *what, char *fix)
{
    AUTO_FREE char *name = gpu_name(gpu);

    findings_add(f, "gpu", state, mem_format("%s %s", name, what), fix);
}

/* True: the gpu is in service. */
static bool check_health(const json_t *gpu, struct findings *f)
{
    const json_t *status = json_object_get(gpu, "status");
    const char *health = json_text(status, "health");
    const char *why = json_text_filled(status, "healthReason");
    const char *advice = json_text_filled(status, "healthAdvice");
    AUTO_FREE char *what =
        mem_format("is %s%s%s", health ? health : "unknown", why ? ": " : "", why ? why : "");

    if (text_equal(health, "healthy"))
        return true;
    if (text_equal(health, "drained"))
        add_gpu(f, gpu, FINDING_WARN, what, mem_strdup("mete resume NODE/GPU puts it back"));
    else
        add_gpu(f, gpu, FINDING_FAIL, what,
                mem_strdup(advice ? advice : "nvidia-smi -q shows details"));
    return false;
}

static void check_slices(const json_t *gpu, struct findings *f)
{
    const json_t *slice;
    size_t i;

    json_array_foreach (json_at(gpu, "spec", "slices", NULL), i, slice) {
        AUTO_FREE char *what = NULL;

        if (!json_text(slice, "health"))
            continue;
        what =
            mem_format("has a slice %s@%" PRId64 " that is %s: %s",
                       text_or_empty(json_text(slice, "profile")), json_int(slice, "start", -1),
                       json_text(slice, "health"), text_or_empty(json_text(slice, "healthReason")));
        add_gpu(f, gpu, FINDING_FAIL, what,
                mem_strdup("the other slices go on; mete drain NODE/GPU --evict, then mete gpus "
                           "reset NODE/GPU"));
    }
}

static void check_heat(const json_t *gpu, const json_t *sample, struct findings *f)
{
    int64_t throttle = json_int(sample, "throttleReasons", 0);
    int64_t temperature = json_int(sample, "temperatureC", -1);

    if (throttle & (THROTTLE_THERMAL | THROTTLE_HARDWARE_THERMAL) || temperature >= HOT_C) {
        AUTO_FREE char *what = mem_format("is hot: %" PRId64 " C%s", temperature,
                                          throttle & (THROTTLE_THERMAL | THROTTLE_HARDWARE_THERMAL)
                                              ? ", the driver lowers its clocks"
                                              : "");

        add_gpu(f, gpu, FINDING_WARN, what,
                mem_strdup("check fans, air flow and the temperature of the room"));
    }
    if (throttle & (THROTTLE_POWER_BRAKE | THROTTLE_SLOWDOWN))
        add_gpu(f, gpu, FINDING_WARN, "is slowed down by the hardware's power brake",
                mem_strdup("check the power supply and its cables"));
}

static void check_memory(const json_t *gpu, const json_t *sample, struct findings *f)
{
    int64_t uncorrected = json_int(sample, "eccUncorrected", 0);

    if (uncorrected > 0) {
        AUTO_FREE char *what = mem_format(
            "had %" PRId64 " uncorrected memory errors since the driver was loaded", uncorrected);

        add_gpu(f, gpu, FINDING_WARN, what,
                mem_strdup("reset the GPU when it is idle; replace it if they come again"));
    }
    if (json_int(sample, "remapPending", 0) == 1)
        add_gpu(f, gpu, FINDING_WARN, "waits for a reset to remap a row of its memory",
                mem_strdup("reset the GPU when it is idle"));
    if (json_int(sample, "remapFailed", 0) == 1)
        add_gpu(f, gpu, FINDING_FAIL, "cannot remap a row of its memory any more",
                mem_strdup("replace the GPU"));
    if (json_int(sample, "nvlinkErrors", 0) > 0)
        add_gpu(f, gpu, FINDING_WARN, "had errors on its NVLinks",
                mem_strdup("nvidia-smi nvlink -e shows the link; reseat or replace it"));
}

/* Processes that are in no container of Mete. */
static void check_foreign(const json_t *gpu, struct findings *f)
{
    const json_t *use = NULL;
    size_t i = 0;

    json_array_foreach (json_at(gpu, "status", "containers", NULL), i, use) {
        AUTO_FREE char *what = NULL;

        if (json_text(use, "podUid"))
            continue;
        what = mem_format("is used by %" PRId64 " processes that Mete did not start, with %" PRId64
                          " MiB",
                          json_int(use, "processes", 0), json_int(use, "memoryUsedBytes", 0) >> 20);
        add_gpu(f, gpu, FINDING_WARN, what,
                mem_strdup("nvidia-smi shows them: end them, or run them by mete run"));
    }
}

void doctor_gpus(const json_t *gpus, struct findings *ret)
{
    const json_t *gpu = NULL;
    size_t n_healthy = 0;
    size_t i = 0;

    json_array_foreach (gpus, i, gpu) {
        const json_t *sample = json_at(gpu, "status", "sample", NULL);

        n_healthy += check_health(gpu, ret);
        check_slices(gpu, ret);
        check_heat(gpu, sample, ret);
        check_memory(gpu, sample, ret);
        check_foreign(gpu, ret);
        if (json_text_at(gpu, "spec", "modeProblem", NULL))
            add_gpu(ret, gpu, FINDING_WARN, json_text_at(gpu, "spec", "modeProblem", NULL),
                    mem_strdup("docs/gpus.md explains modes"));
    }
    findings_add(ret, "gpus", FINDING_OK, mem_format("%zu healthy", n_healthy), NULL);
}

void doctor_node_driver(const json_t *node, struct findings *ret)
{
    const json_t *condition = object_condition(node, "GPUDriverProblem");
    const char *name = json_text_at(node, "metadata", "name", NULL);
    const char *why = text_or_empty(json_text(condition, "message"));

    if (!text_equal(json_text(condition, "status"), "True"))
        return;
    findings_add(ret, "gpu driver", FINDING_FAIL,
                 mem_format("of node %s does not work: %s", text_or_empty(name), why),
                 mem_strdup(strstr(why, "ersion mismatch")
                                ? "the driver's library and kernel module differ, as after an "
                                  "update: reboot, or reload the module when no job uses a GPU"
                            : strstr(why, "do not answer") || strstr(why, "does not answer")
                                ? "the driver hangs: reboot the machine if it stays so"
                                : "modprobe nvidia loads the driver; its log is in dmesg"));
}

/* partition_serve_linux.c - carries out a plan for MIG instances, by the driver */

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "gpu/partition.h"
#include "gpu/partition_serve.h"

enum {
    PLAN_BYTES_MAX = 16384,
    SERVE_GPUS_MAX = 64,
    SWITCH_TRIES = 50, /* other helpers of Mete leave the driver meanwhile */
    SWITCH_PAUSE_MS = 100
};

static struct err *find_index(struct gpu_driver *d, const char *uuid, unsigned *ret)
{
    unsigned n = 0;

    TRY(gpu_driver_count(d, &n));
    for (unsigned i = 0; i < n && i < SERVE_GPUS_MAX; i++) {
        char here[GPU_TEXT_SIZE] = "";
        AUTO(err_freep) struct err *e = gpu_driver_uuid(d, i, here);

        if (e || strcmp(here, uuid) != 0)
            continue;
        *ret = i;
        return NULL;
    }
    return err_new(ERR_NOT_FOUND, "there is no gpu %s", uuid);
}

static struct err *switch_mig(struct gpu_driver *d, unsigned index, bool is_on)
{
    struct err *e = gpu_driver_set_mig(d, index, is_on);

    for (int i = 0; i < SWITCH_TRIES && e && err_code(e) == ERR_CONFLICT; i++) {
        err_free(e);
        (void)poll(NULL, 0, SWITCH_PAUSE_MS);
        e = gpu_driver_set_mig(d, index, is_on);
    }
    return e;
}

static struct err *carry_out(struct gpu_driver *d, unsigned index, const struct partition_step *s)
{
    struct err *e = NULL;

    switch (s->op) {
    case PARTITION_ENABLE:
    case PARTITION_DISABLE:
        return switch_mig(d, index, s->op == PARTITION_ENABLE);
    case PARTITION_DESTROY:
        e = gpu_driver_destroy_slice(d, index, s->gpu_instance);
        return e ? err_wrap(e, "remove %s@%u", s->profile, s->start) : NULL;
    case PARTITION_CREATE:
        e = gpu_driver_create_slice(d, index, s->profile, s->start, s->size);
        return e ? err_wrap(e, "create %s@%u", s->profile, s->start) : NULL;
    }
    return NULL;
}

static struct err *read_plan(json_t **ret)
{
    AUTO_FREE char *text = mem_alloc(PLAN_BYTES_MAX);
    struct err *e = NULL;

    if (!fgets(text, PLAN_BYTES_MAX, stdin))
        return err_new(ERR_INVALID, "partition: no plan");
    e = json_parse((struct str){.at = text, .size = strcspn(text, "\n")}, ret);
    return e ? err_wrap(e, "partition") : NULL;
}

static struct err *serve_plan(struct gpu_driver *d, const char *uuid)
{
    AUTO(json_freep) json_t *plan = NULL;
    unsigned index = 0;

    TRY(read_plan(&plan));
    TRY(find_index(d, uuid, &index));
    for (size_t i = 0; i < json_array_size(plan); i++) {
        struct partition_step step = {0};

        TRY(partition_step_parse(json_array_get(plan, i), &step));
        TRY(carry_out(d, index, &step));
    }
    return NULL;
}

int partition_serve(struct gpu_driver *d, const char *uuid)
{
    AUTO(err_freep) struct err *e = serve_plan(d, uuid);
    AUTO(json_freep)
    json_t *answer = e ? json_pack("{s:s, s:i}", "error", err_message(e), "code", err_http(e))
                       : json_pack("{s:b}", "end", true);
    AUTO_FREE char *text = json_format(answer);

    return printf("%s\n", text) > 0 && fflush(stdout) == 0 ? 0 : 1;
}

/* gpu_readers_linux.c - the gpus of several readers, one after the other; NVML's reader */

#include "gpu/gpu_readers.h"

void gpu_readers_add(struct gpu_readers *r, const struct gpu_reader_type *type, void *state)
{
    r->at[r->n++] = (struct gpu_reader){.type = type, .state = state};
}

void gpu_readers_done(struct gpu_readers *r)
{
    for (size_t i = 0; i < r->n; i++)
        r->at[i].type->free(r->at[i].state);
    *r = (struct gpu_readers){0};
}

struct err *gpu_readers_count(struct gpu_readers *r, unsigned *ret)
{
    unsigned total = 0;

    for (size_t i = 0; i < r->n; i++) {
        TRY(r->at[i].type->count(r->at[i].state, &r->at[i].n));
        total += r->at[i].n;
    }
    *ret = total;
    return NULL;
}

/* The reader of a gpu; `*index` becomes the gpu's index there. NULL: there is no such gpu. */
static const struct gpu_reader *reader_of(const struct gpu_readers *r, unsigned *index)
{
    for (size_t i = 0; i < r->n; i++) {
        if (*index < r->at[i].n)
            return &r->at[i];
        *index -= r->at[i].n;
    }
    return NULL;
}

static struct err *no_gpu(unsigned index)
{
    return err_new(ERR_UNAVAILABLE, "there is no gpu %u any more", index);
}

struct err *gpu_readers_read(struct gpu_readers *r, unsigned index, struct gpu *ret)
{
    unsigned own = index;
    const struct gpu_reader *reader = reader_of(r, &own);
    struct err *e = reader ? reader->type->read(reader->state, own, ret) : no_gpu(index);

    if (!e)
        ret->index = (int)index;
    return e;
}

bool gpu_readers_are_linked(struct gpu_readers *r, unsigned a, unsigned b)
{
    const struct gpu_reader *reader = reader_of(r, &a);

    return reader && reader == reader_of(r, &b) && reader->type->are_linked(reader->state, a, b);
}

void gpu_readers_connection(struct gpu_readers *r, unsigned a, unsigned b,
                            char ret[GPU_CONNECTION_SIZE])
{
    const struct gpu_reader *reader = reader_of(r, &a);

    ret[0] = '\0';
    if (reader && reader == reader_of(r, &b))
        reader->type->connection(reader->state, a, b, ret);
}

struct err *gpu_readers_sample(struct gpu_readers *r, unsigned index, struct gpu_reading *ret)
{
    unsigned own = index;
    const struct gpu_reader *reader = reader_of(r, &own);

    return reader ? reader->type->sample(reader->state, own, ret) : no_gpu(index);
}

/* ---- NVML ---- */

static struct err *nvml_count(void *state, unsigned *ret)
{
    return gpu_driver_count(state, ret);
}

static struct err *nvml_read(void *state, unsigned index, struct gpu *ret)
{
    return gpu_driver_read(state, index, ret);
}

static bool nvml_are_linked(void *state, unsigned a, unsigned b)
{
    return gpu_driver_are_linked(state, a, b);
}

static void nvml_connection(void *state, unsigned a, unsigned b, char ret[GPU_CONNECTION_SIZE])
{
    gpu_driver_connection(state, a, b, ret);
}

static struct err *nvml_sample(void *state, unsigned index, struct gpu_reading *ret)
{
    return gpu_driver_sample(state, index, ret);
}

static void nvml_keep(void *state)
{
    (void)state;
}

const struct gpu_reader_type gpu_reader_nvml = {
    .count = nvml_count,
    .read = nvml_read,
    .are_linked = nvml_are_linked,
    .connection = nvml_connection,
    .sample = nvml_sample,
    .free = nvml_keep,
};

/* gpu_samples.c - samples of gpus, from the watch to the incidents and to the server */

#include "node/gpu_samples.h"

#include <stdio.h>

#include "node/gpu_uses.h"

/* Adds the sample of a gpu, those of its slices, and the containers on both. */
static void add_gpu_sample(const struct gpu_samples_of *of, size_t index,
                           const struct gpu_sample *sample, struct node_stats *s)
{
    size_t n_slices = 0;
    size_t n_uses = 0;
    const struct gpu_sample *slices = gpu_watch_slices(of->gpus, index, &n_slices);
    const struct gpu_use *uses = gpu_watch_uses(of->gpus, index, &n_uses);

    vec_add(&s->gpus, *sample);
    for (size_t i = 0; i < n_slices; i++)
        vec_add(&s->gpus, slices[i]);
    gpu_uses_add(of->pods, uses, n_uses, s);
}

static void add_gpu_xids(const struct gpu_samples_of *of, const char *uuid, struct node_stats *s)
{
    struct gpu_xids x = {0};

    if (!*uuid)
        return;
    (void)snprintf(x.uuid, sizeof(x.uuid), "%s", uuid);
    x.n = gpu_incidents_xids(of->incidents, uuid, &x.last);
    vec_add(&s->xids, x);
}

bool gpu_samples_judge(struct gpu_samples *s, const struct gpu_samples_of *of)
{
    size_t count = 0;
    const struct gpu *list = gpu_watch_list(of->gpus, &count);
    bool has_changed = false;

    for (size_t i = 0; i < count; i++) {
        const struct gpu_sample *sample = gpu_watch_sample(of->gpus, list[i].uuid);
        size_t n_uses = 0;

        (void)gpu_watch_uses(of->gpus, i, &n_uses);
        if (sample && sample->at_ns > s->judged_ns)
            has_changed |= gpu_incidents_sampled(
                of->incidents, sample, n_uses > 0 || pods_hold_gpu(of->pods, list[i].uuid));
    }
    s->judged_ns = loop_now_ns(of->loop);
    return has_changed;
}

void gpu_samples_take(struct gpu_samples *s, const struct gpu_samples_of *of)
{
    struct node_stats told = {0};
    size_t count = 0;
    const struct gpu *list = gpu_watch_list(of->gpus, &count);

    for (size_t i = 0; i < count; i++) {
        const struct gpu_sample *sample = gpu_watch_sample(of->gpus, list[i].uuid);

        if (sample && sample->at_ns > s->taken_ns)
            add_gpu_sample(of, i, sample, &told);
        add_gpu_xids(of, list[i].uuid, &told);
    }
    s->taken_ns = loop_now_ns(of->loop);
    gpu_charge(&s->marks, of->pods, &told);
    if (of->stats)
        stats_send_gpus(of->stats, &told);
    node_stats_done(&told);
}

void gpu_samples_done(struct gpu_samples *s)
{
    gpu_marks_done(&s->marks);
}

/*
 * cuda_stream.c - streams, events, and when their work is done
 *
 * The work of a process on a gpu is one queue in the engine, whatever its streams: each piece ends
 * after the one before it. A stream or event is done when the engine's virtual time has passed its
 * last piece.
 */

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda.h"

struct CUevent_st {
    struct CUctx_st *context;
    struct CUevent_st *next; /* in the device's list of pending events */
    unsigned flags;
    bool is_recorded;
    bool is_done;
    uint64_t finish_ns;   /* virtual */
    uint64_t recorded_ns; /* real */
    uint64_t done_ns;     /* real */
    struct CUgraph_st *capture;
};

/* Notes the times of the events that are done, while the engine still knows them. */
static void events_finish(struct device *d, const struct gpusim_engine *engine)
{
    while (d->pending && d->pending->finish_ns <= engine->virtual_ns) {
        struct CUevent_st *event = d->pending;
        uint64_t done_ns = engine_was_at(engine, event->finish_ns);

        d->pending = event->next;
        event->next = NULL;
        event->is_done = true;
        event->done_ns = done_ns > event->recorded_ns ? done_ns : event->recorded_ns;
    }
}

static void event_forget(struct CUevent_st *event)
{
    struct CUevent_st **at = &event->context->device->pending;

    while (*at && *at != event)
        at = &(*at)->next;
    if (*at)
        *at = event->next;
    event->next = NULL;
}

/* ---- waiting ---- */

/* Brings the engine up to date under the gpu's lock; adds work if `add_ns` is not 0. */
static CUresult engine_visit(struct device *d, uint64_t add_ns, struct engine *ret,
                             uint64_t *ret_finish_ns)
{
    CUresult result = CUDA_ERROR_UNKNOWN;

    gpu_lock(&cuda_view, d->index);
    engine_load(ret, &cuda_view, d->index, d->engine);
    engine_advance(ret, clock_ns());
    for (unsigned i = 0; i < ret->n; i++) {
        struct gpusim_use *use = &ret->uses[i];

        if (ret->slots[i] != (unsigned)cuda_slot)
            continue;
        if (use->finish_virtual_ns < ret->state.virtual_ns)
            use->finish_virtual_ns = ret->state.virtual_ns;
        use->finish_virtual_ns += add_ns;
        *ret_finish_ns = use->finish_virtual_ns;
        result = CUDA_SUCCESS;
    }
    if (result == CUDA_SUCCESS)
        engine_save(ret, &cuda_view, d->index, d->engine);
    gpu_unlock(&cuda_view, d->index);
    events_finish(d, &ret->state);
    return result;
}

static void sleep_unlocked(uint64_t ns)
{
    const struct timespec time = {.tv_sec = (time_t)(ns / 1000000000),
                                  .tv_nsec = (long)(ns % 1000000000)};

    cuda_unlock();
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    cuda_lock();
}

CUresult device_is_done(struct CUctx_st *c, uint64_t finish_ns, bool *ret)
{
    static struct engine e;
    uint64_t queue_ns = 0;

    CHECK(engine_visit(c->device, 0, &e, &queue_ns));
    *ret = e.state.virtual_ns >= finish_ns;
    return CUDA_SUCCESS;
}

/* Work of others that arrives meanwhile makes the wait longer, and one that dies shorter. */
CUresult device_wait(struct CUctx_st *c, uint64_t finish_ns)
{
    enum {
        LOOK_NS = 20000000
    };
    static struct engine e;
    uint64_t queue_ns = 0;

    for (;;) {
        uint64_t now = 0;
        uint64_t end = 0;

        if (!handle_is(c, HANDLE_CONTEXT))
            return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        CHECK(context_check(c));
        CHECK(engine_visit(c->device, 0, &e, &queue_ns));
        if (e.state.virtual_ns >= finish_ns)
            return CUDA_SUCCESS;
        end = engine_when(&e, finish_ns);
        now = clock_ns();
        if (end > now)
            sleep_unlocked(end - now < LOOK_NS ? end - now : LOOK_NS);
    }
}

/* ---- streams ---- */

static uint64_t stream_ids;

struct CUstream_st *stream_new(struct CUctx_st *c, unsigned flags, int priority)
{
    struct CUstream_st *s = handle_new(HANDLE_STREAM, sizeof(*s));

    if (s)
        *s = (struct CUstream_st){
            .context = c, .flags = flags, .priority = priority, .id = ++stream_ids};
    return s;
}

static void stream_free_one(void *object, void *context)
{
    if (((struct CUstream_st *)object)->context == context)
        handle_free(object);
}

CUresult stream_find(CUstream handle, struct CUstream_st **ret)
{
    struct CUctx_st *c = NULL;

    if (handle == NULL || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
        CHECK(context_current(&c));
        *ret = handle == CU_STREAM_PER_THREAD ? c->per_thread : c->legacy;
        return CUDA_SUCCESS;
    }
    if (!handle_is(handle, HANDLE_STREAM))
        return CUDA_ERROR_INVALID_HANDLE;
    CHECK(context_check(handle->context));
    *ret = handle;
    return CUDA_SUCCESS;
}

CUresult stream_refuse_capture(const struct CUstream_st *s)
{
    return s->capture ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult stream_add_work(struct CUstream_st *s, uint64_t ns)
{
    static struct engine e;
    struct CUctx_st *c = s->context;
    uint64_t *slot = &c->launches[c->n_launches % LAUNCHES_MAX];

    if (c->n_launches >= LAUNCHES_MAX)
        CHECK(device_wait(c, *slot));
    CHECK(engine_visit(c->device, ns, &e, &s->finish_ns));
    *slot = s->finish_ns;
    c->n_launches++;
    c->finish_ns = s->finish_ns;
    return CUDA_SUCCESS;
}

CUresult stream_wait(struct CUstream_st *s)
{
    /* The legacy stream waits for all streams but those that asked not to. */
    if (s == s->context->legacy)
        return context_wait(s->context);
    return device_wait(s->context, s->finish_ns);
}

API(cuStreamCreateWithPriority, cuStreamCreateWithPriority, 5050, CUstream *ret, unsigned flags,
    int priority)
{
    ENTER_CONTEXT(c);
    REQUIRE(ret && (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) == 0);
    *ret = stream_new(c, flags, priority > 0 ? 0 : priority < -5 ? -5 : priority);
    return *ret ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API(cuStreamCreate, cuStreamCreate, 2000, CUstream *ret, unsigned flags)
{
    return cuStreamCreateWithPriority(ret, flags, 0);
}

/* Returns at once; work that is queued goes on. */
API(cuStreamDestroy_v2, cuStreamDestroy, 4000, CUstream stream)
{
    ENTER();
    if (!handle_is(stream, HANDLE_STREAM) || stream == stream->context->legacy ||
        stream == stream->context->per_thread)
        return CUDA_ERROR_INVALID_HANDLE;
    handle_free(stream);
    return CUDA_SUCCESS;
}

API(cuStreamQuery, cuStreamQuery, 2000, CUstream stream)
{
    struct CUstream_st *s = NULL;
    bool is_done = false;

    ENTER();
    CHECK(stream_find(stream, &s));
    CHECK(stream_refuse_capture(s));
    CHECK(device_is_done(s->context, s == s->context->legacy ? s->context->finish_ns : s->finish_ns,
                         &is_done));
    return is_done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
API_ALIAS(cuStreamQuery_ptsz, cuStreamQuery);

API(cuStreamSynchronize, cuStreamSynchronize, 2000, CUstream stream)
{
    struct CUstream_st *s = NULL;

    ENTER();
    CHECK(stream_find(stream, &s));
    CHECK(stream_refuse_capture(s));
    return stream_wait(s);
}
API_ALIAS(cuStreamSynchronize_ptsz, cuStreamSynchronize);

/* NOLINTBEGIN(bugprone-macro-parentheses): `type` is a type */
#define STREAM_GETTER(name, version, type, member)       \
    API(name, name, version, CUstream stream, type *ret) \
    {                                                    \
        struct CUstream_st *s = NULL;                    \
                                                         \
        ENTER();                                         \
        REQUIRE(ret);                                    \
        CHECK(stream_find(stream, &s));                  \
        *ret = s->member;                                \
        return CUDA_SUCCESS;                             \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

STREAM_GETTER(cuStreamGetFlags, 5050, unsigned, flags)
STREAM_GETTER(cuStreamGetPriority, 5050, int, priority)
STREAM_GETTER(cuStreamGetId, 12000, unsigned long long, id)
STREAM_GETTER(cuStreamGetCtx, 9020, CUcontext, context)

/* ---- functions of the host in a stream ---- */

/* The function runs before the call returns, after all work of the stream. */
static CUresult stream_call(struct CUstream_st *s, CUhostFn function, void *data)
{
    CHECK(stream_wait(s));
    cuda_unlock();
    function(data);
    cuda_lock();
    return CUDA_SUCCESS;
}

API(cuLaunchHostFunc, cuLaunchHostFunc, 10000, CUstream stream, CUhostFn function, void *data)
{
    struct CUstream_st *s = NULL;

    ENTER();
    REQUIRE(function);
    CHECK(stream_find(stream, &s));
    return s->capture ? capture_host(s, function, data) : stream_call(s, function, data);
}
API_ALIAS(cuLaunchHostFunc_ptsz, cuLaunchHostFunc);

API(cuStreamAddCallback, cuStreamAddCallback, 5000, CUstream stream, CUstreamCallback function,
    void *data, unsigned flags)
{
    struct CUstream_st *s = NULL;

    ENTER();
    REQUIRE(function && flags == 0);
    CHECK(stream_find(stream, &s));
    CHECK(stream_refuse_capture(s));
    CHECK(stream_wait(s));
    cuda_unlock();
    function(stream, CUDA_SUCCESS, data);
    cuda_lock();
    return CUDA_SUCCESS;
}

/* ---- events ---- */

void streams_free_of(struct CUctx_st *c)
{
    struct CUevent_st **at = &c->device->pending;

    while (*at) {
        if ((*at)->context == c)
            *at = (*at)->next;
        else
            at = &(*at)->next;
    }
    handle_each(HANDLE_STREAM, stream_free_one, c);
}

API(cuEventCreate, cuEventCreate, 2000, CUevent *ret, unsigned flags)
{
    ENTER_CONTEXT(c);
    REQUIRE(ret && flags <= 7);
    /* An event of several processes cannot have times. */
    REQUIRE(!(flags & CU_EVENT_INTERPROCESS) || (flags & CU_EVENT_DISABLE_TIMING));
    *ret = handle_new(HANDLE_EVENT, sizeof(**ret));
    if (!*ret)
        return CUDA_ERROR_OUT_OF_MEMORY;
    **ret = (struct CUevent_st){.context = c, .flags = flags};
    return CUDA_SUCCESS;
}

API(cuEventDestroy_v2, cuEventDestroy, 4000, CUevent event)
{
    ENTER();
    if (!handle_is(event, HANDLE_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    if (handle_is(event->context, HANDLE_CONTEXT))
        event_forget(event);
    handle_free(event);
    return CUDA_SUCCESS;
}

static CUresult event_check(CUevent event)
{
    if (!handle_is(event, HANDLE_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    return handle_is(event->context, HANDLE_CONTEXT) ? CUDA_SUCCESS
                                                     : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/* Puts an event behind those that are done before it. */
static void event_await(struct CUevent_st *event)
{
    struct CUevent_st **at = &event->context->device->pending;

    while (*at && (*at)->finish_ns <= event->finish_ns)
        at = &(*at)->next;
    event->next = *at;
    *at = event;
}

API(cuEventRecord, cuEventRecord, 2000, CUevent event, CUstream stream)
{
    struct CUstream_st *s = NULL;
    bool is_done = false;

    ENTER();
    CHECK(event_check(event));
    CHECK(stream_find(stream, &s));
    if (s->context->device != event->context->device)
        return CUDA_ERROR_INVALID_HANDLE;
    event_forget(event);
    event->capture = s->capture;
    if (s->capture)
        return CUDA_SUCCESS;
    event->is_recorded = true;
    event->is_done = false;
    event->finish_ns = s == s->context->legacy ? s->context->finish_ns : s->finish_ns;
    event->recorded_ns = clock_ns();
    event_await(event);
    return device_is_done(event->context, event->finish_ns, &is_done);
}
API_ALIAS(cuEventRecord_ptsz, cuEventRecord);

API(cuEventRecordWithFlags, cuEventRecordWithFlags, 11010, CUevent event, CUstream stream,
    unsigned flags)
{
    REQUIRE(flags <= 1);
    return cuEventRecord(event, stream);
}

API(cuEventQuery, cuEventQuery, 2000, CUevent event)
{
    bool is_done = true;

    ENTER();
    CHECK(event_check(event));
    if (event->capture)
        return CUDA_ERROR_CAPTURED_EVENT;
    if (event->is_recorded)
        CHECK(device_is_done(event->context, event->finish_ns, &is_done));
    return is_done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

API(cuEventSynchronize, cuEventSynchronize, 2000, CUevent event)
{
    ENTER();
    CHECK(event_check(event));
    if (event->capture)
        return CUDA_ERROR_CAPTURED_EVENT;
    return event->is_recorded ? device_wait(event->context, event->finish_ns) : CUDA_SUCCESS;
}

API(cuEventElapsedTime_v2, cuEventElapsedTime, 12080, float *ret, CUevent start, CUevent end)
{
    ENTER();
    REQUIRE(ret);
    CHECK(event_check(start));
    CHECK(event_check(end));
    if (!start->is_recorded || !end->is_recorded ||
        ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING))
        return CUDA_ERROR_INVALID_HANDLE;
    CHECK(cuEventQuery(start));
    CHECK(cuEventQuery(end));
    *ret = (float)((int64_t)(end->done_ns - start->done_ns)) / 1e6F;
    return CUDA_SUCCESS;
}

API(cuEventElapsedTime, cuEventElapsedTime, 2000, float *ret, CUevent start, CUevent end)
{
    return cuEventElapsedTime_v2(ret, start, end);
}

/* A stream that waits for an event of a capture joins the capture. */
API(cuStreamWaitEvent, cuStreamWaitEvent, 3020, CUstream stream, CUevent event, unsigned flags)
{
    struct CUstream_st *s = NULL;

    ENTER();
    REQUIRE(flags <= 1);
    CHECK(event_check(event));
    CHECK(stream_find(stream, &s));
    if (event->capture) {
        if (s->capture && s->capture != event->capture)
            return CUDA_ERROR_STREAM_CAPTURE_MERGE;
        s->capture = event->capture;
        return CUDA_SUCCESS;
    }
    CHECK(stream_refuse_capture(s));
    if (!event->is_recorded)
        return CUDA_SUCCESS;
    if (event->context->device != s->context->device)
        return device_wait(event->context, event->finish_ns);
    if (event->finish_ns > s->finish_ns)
        s->finish_ns = event->finish_ns;
    return CUDA_SUCCESS;
}
API_ALIAS(cuStreamWaitEvent_ptsz, cuStreamWaitEvent);

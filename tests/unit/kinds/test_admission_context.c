/* test_admission_context.c - writes that webhooks are asked about: attempts, answers, changes
 * meanwhile */

#include <stdio.h>

#include "base/mem.h"
#include "kinds/admission/admission.h"
#include "test.h"
#include "world.h"

/* Webhooks that answer when the test says so. */
struct hooks {
    struct world world;
    struct admission *admission;
    struct hook_caller caller;
    struct admission_context *context;
    char *asked; /* the last question; NULL: none is open */
    hook_done_fn done;
    void *arg;
    size_t n_asked;
    size_t n_cancelled;
};

static struct err *hooks_start(void *arg, const struct hook_post *post, hook_done_fn done,
                               void *done_arg, void **ret_call)
{
    struct hooks *h = arg;

    assert_null(h->asked);
    h->asked = mem_strndup(post->body.at, post->body.size);
    h->done = done;
    h->arg = done_arg;
    h->n_asked++;
    *ret_call = h;
    return NULL;
}

static void hooks_cancel(void *arg, void *call)
{
    struct hooks *h = arg;

    assert_ptr_equal(call, h);
    h->n_cancelled++;
    mem_freep(&h->asked);
    h->asked = NULL;
}

static void open_context(struct hooks *h)
{
    AUTO(json_freep) json_t *user = json_pack("{s:s}", "username", "ann");
    struct admission_context_options o = {
        .loop = h->world.loop, .store = h->world.store, .caller = &h->caller, .user = user};

    objects_random(h->world.objects, &o.random, &o.random_arg);
    h->context = admission_context_new(&o);
}

static void hooks_init(struct hooks *h, const char *kind, const char *configuration)
{
    const struct target t = {.group = "admissionregistration.k8s.io", .kind = kind, .who = &root};

    *h = (struct hooks){0};
    world_init(&h->world, 1);
    h->caller = (struct hook_caller){.start = hooks_start, .cancel = hooks_cancel, .arg = h};
    world_must(world_create(&h->world, t, configuration, NULL));
    world_must(admission_new(h->world.store, &h->admission));
    objects_set_admission(h->world.objects, h->admission, &h->caller);
    open_context(h);
}

static void hooks_done(struct hooks *h)
{
    admission_context_free(h->context);
    objects_set_admission(h->world.objects, NULL, NULL);
    admission_free(h->admission);
    world_done(&h->world);
    free(h->asked);
}

/* Answers the open question with the members of a response. */
static void answer(struct hooks *h, const char *members)
{
    AUTO(json_freep) json_t *asked = NULL;
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *question = h->asked;

    h->asked = NULL;
    world_must(json_parse(str_of(question), &asked));
    text = mem_format("{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\","
                      "\"response\":{\"uid\":\"%s\",%s}}",
                      json_text_at(asked, "request", "uid", NULL), members);
    h->done(h->arg, NULL, 200, str_of(text));
}

static struct err *attempt(struct hooks *h, json_t **ret)
{
    const struct objects_request r = {
        .kind = kind_find("", "configmaps"), .ns = "default", .who = ann, .admission = h->context};
    AUTO(json_freep)
    json_t *object = manifest("{'metadata':{'generateName':'a-'},'data':{'k':'v'}}");

    admission_context_begin(h->context);
    return objects_create(h->world.objects, &r, object, NULL, NULL, ret);
}

#define HOOK(kind)                                                                          \
    "{'metadata':{'name':'h'},'webhooks':[{'name':'" kind                                   \
    ".hooks.example.com','clientConfig':{'url':'https://h.example/'},'sideEffects':'None'," \
    "'admissionReviewVersions':['v1'],'rules':[{'operations':['*'],'apiGroups':['*'],"      \
    "'apiVersions':['*'],'resources':['*']}]}]}"

static void asks_the_same_in_each_attempt(void **state)
{
    struct hooks h;
    AUTO(json_freep) json_t *made = NULL;
    AUTO_FREE char *question = NULL;

    (void)state;
    hooks_init(&h, "validatingwebhookconfigurations", HOOK("v"));
    world_refused(attempt(&h, &made), 503, "webhooks are being asked about the request; try again");
    assert_true(admission_context_is_waiting(h.context));
    question = mem_strdup(h.asked);
    sim_loop_advance(h.world.loop, 5000000000);
    world_refused(attempt(&h, &made), 503, "webhooks are being asked about the request; try again");
    assert_int_equal(h.n_asked, 1);
    answer(&h, "\"allowed\":true");
    world_must(attempt(&h, &made));
    assert_false(admission_context_is_waiting(h.context));
    assert_int_equal(h.n_asked, 1);
    /* The object is the one that the webhook saw. */
    assert_non_null(strstr(question, json_text_at(made, "metadata", "uid", NULL)));
    assert_non_null(strstr(question, json_text_at(made, "metadata", "name", NULL)));
    assert_non_null(strstr(question, json_text_at(made, "metadata", "creationTimestamp", NULL)));
    hooks_done(&h);
}

static void takes_patches_and_denials(void **state)
{
    struct hooks h;
    AUTO(json_freep) json_t *made = NULL;

    (void)state;
    hooks_init(&h, "mutatingwebhookconfigurations", HOOK("m"));
    err_free(attempt(&h, &made));
    /* [{"op":"add","path":"/data/x","value":"y"}] */
    answer(&h, "\"allowed\":true,\"patchType\":\"JSONPatch\",\"patch\":"
               "\"W3sib3AiOiJhZGQiLCJwYXRoIjoiL2RhdGEveCIsInZhbHVlIjoieSJ9XQ==\"");
    world_must(attempt(&h, &made));
    assert_string_equal(json_text_at(made, "data", "x", NULL), "y");
    admission_context_free(h.context);
    open_context(&h);
    err_free(attempt(&h, &made));
    answer(&h, "\"allowed\":false,\"status\":{\"message\":\"no\",\"code\":418}");
    world_refused(attempt(&h, &made), 403,
                  "admission webhook \"m.hooks.example.com\" denied the request: no");
    hooks_done(&h);
}

static void ends_its_calls(void **state)
{
    struct hooks h;
    json_t *made = NULL;

    (void)state;
    hooks_init(&h, "validatingwebhookconfigurations", HOOK("v"));
    err_free(attempt(&h, &made));
    admission_context_free(h.context);
    h.context = NULL;
    assert_int_equal(h.n_cancelled, 1);
    hooks_done(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_the_same_in_each_attempt),
        cmocka_unit_test(takes_patches_and_denials),
        cmocka_unit_test(ends_its_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

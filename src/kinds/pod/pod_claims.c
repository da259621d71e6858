/* pod_claims.c - claims of a pod: their annotation, and their validation */

#include "kinds/pod/pod_claims.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"

static const char *claims_text(const json_t *pod)
{
    return json_text_at(pod, "metadata", "annotations", POD_CLAIMS, NULL);
}

bool pod_has_claims(const json_t *pod)
{
    return json_array_size(json_at(pod, "spec", "resourceClaims", NULL)) > 0;
}

const char *pod_claims_wait(const json_t *pod)
{
    const char *text = claims_text(pod);

    if (!pod_has_claims(pod))
        return NULL;
    if (!text)
        return "waits until its resource claims are read";
    if (text_starts_with(text, POD_CLAIMS_WAIT))
        return text + sizeof(POD_CLAIMS_WAIT) - 1;
    return NULL;
}

char *pod_claims_node(const json_t *pod)
{
    struct str rest = str_of(claims_text(pod));
    struct str line = str_cut(&rest, '\n');
    struct str word = pod_claims_wait(pod) || !line.at ? (struct str){0} : str_cut(&line, ' ');

    if (!str_equal(word, STR("ready")) || !line.at)
        return mem_strdup("");
    return mem_strndup(line.at, line.size);
}

/* Reads "GPU-8c1f,GPU-77@48"; "*": any. */
static void read_chosen(struct str text, struct pod_claim *ret)
{
    struct str gpus = str_cut(&text, '@');
    int64_t starts = 0;
    AUTO(err_freep) struct err *e = text.at ? num_parse_int64(text, 1, UINT16_MAX, &starts) : NULL;

    ret->starts = (uint16_t)starts;
    if (!str_equal(gpus, STR("*")))
        ret->gpus = gpus;
}

bool pod_next_claim(const json_t *pod, struct str *rest, struct pod_claim *ret)
{
    struct str line;
    struct str words[5];

    if (!rest->at) {
        const char *text = claims_text(pod);

        *rest = str_of(text);
        if (!text || !text_starts_with(text, "ready"))
            return false;
        (void)str_cut(rest, '\n');
    }
    if (!rest->at || rest->size == 0)
        return false;
    line = str_cut(rest, '\n');
    for (size_t i = 0; i < COUNT(words); i++) {
        if (!line.at)
            return false;
        words[i] = str_cut(&line, ' ');
    }
    if (!rest->at)
        *rest = STR(""); /* the next call ends */
    *ret = (struct pod_claim){.name = words[0], .request = words[1], .uid = words[2]};
    ret->id = (struct str){words[0].at, (size_t)(words[2].at + words[2].size - words[0].at)};
    if (str_equal(words[3], STR("held"))) {
        ret->held = words[4];
        return true;
    }
    if (str_equal(words[3], STR(POD_CLAIM_SEEN))) {
        ret->seen = words[4];
        return true;
    }
    ret->ask = words[3];
    read_chosen(words[4], ret);
    return true;
}

bool container_has_claim(const json_t *container, const struct pod_claim *c)
{
    const json_t *names = json_at(container, "resources", "claims", NULL);

    for (size_t i = 0; i < json_array_size(names); i++) {
        const json_t *one = json_array_get(names, i);
        const char *request = json_text_filled(one, "request");
        struct str rest = c->request;
        struct str main = str_cut(&rest, '/'); /* of "gpu/large" */

        if (str_equal(str_of(json_text(one, "name")), c->name) &&
            (!request || str_equal(str_of(request), main)))
            return true;
    }
    return false;
}

bool pod_next_held(struct str *rest, struct device *ret)
{
    while (rest->at && rest->size > 0) {
        struct str part = str_cut(rest, ';');
        AUTO_FREE char *text = mem_strndup(part.at, part.size);
        AUTO(err_freep) struct err *e = device_parse(text, ret);

        if (!e)
            return true;
    }
    return false;
}

/* The number of devices that the lines of the container name in full: held, or seen. */
static size_t count_named(const json_t *pod, const json_t *container, bool is_seen)
{
    struct str rest = {0};
    struct pod_claim c;
    size_t n = 0;

    while (pod_next_claim(pod, &rest, &c)) {
        struct str named = is_seen ? c.seen : c.held;
        struct device d;

        while (container_has_claim(container, &c) && pod_next_held(&named, &d))
            n++;
    }
    return n;
}

size_t container_held_count(const json_t *pod, const json_t *container)
{
    return count_named(pod, container, false);
}

size_t container_seen_count(const json_t *pod, const json_t *container)
{
    return count_named(pod, container, true);
}

bool pod_shares_device(const json_t *pod, const struct device *d)
{
    struct str rest = {0};
    struct pod_claim c;

    while (pod_next_claim(pod, &rest, &c)) {
        struct str held = c.held;
        struct device own;

        while (pod_next_held(&held, &own))
            if (device_equal(&own, d))
                return true;
    }
    return false;
}

/* ---- validation ---- */

static bool has_name(const json_t *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (text_equal(json_text(json_array_get(list, i), "name"), name))
            return true;
    return false;
}

/* Counts the containers that name the claim. */
static size_t count_users(const json_t *containers, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(containers); i++) {
        const json_t *claims = json_at(json_array_get(containers, i), "resources", "claims", NULL);

        n += has_name(claims, json_array_size(claims), name);
    }
    return n;
}

static void validate_claim(const json_t *spec, size_t i, const struct path *at,
                           struct causes *causes)
{
    const json_t *list = json_object_get(spec, "resourceClaims");
    const json_t *claim = json_array_get(list, i);
    const struct path *here = PATH_INDEX(at, i);
    const char *name = json_text(claim, "name");

    if (!json_text(claim, "resourceClaimName") == !json_text(claim, "resourceClaimTemplateName"))
        cause_invalid(causes, here, name ? name : "",
                      "exactly one of `resourceClaimName`, `resourceClaimTemplateName` must be "
                      "specified");
    if (!name)
        return; /* the schema reports it */
    if (has_name(list, i, name))
        cause_duplicate(causes, PATH(here, "name"), name);
    if (count_users(json_object_get(spec, "containers"), name) +
            count_users(json_object_get(spec, "initContainers"), name) ==
        0)
        cause_invalid(causes, PATH(here, "name"), name,
                      "no container names it in resources.claims: not implemented yet");
}

static void validate_names(const json_t *spec, const char *list, const struct path *at,
                           struct causes *causes)
{
    const json_t *claims = json_object_get(spec, "resourceClaims");
    const json_t *containers = json_object_get(spec, list);

    for (size_t i = 0; i < json_array_size(containers); i++) {
        const json_t *names = json_at(json_array_get(containers, i), "resources", "claims", NULL);
        const struct path *here = PATH(PATH(PATH_INDEX(PATH(at, list), i), "resources"), "claims");

        for (size_t k = 0; k < json_array_size(names); k++) {
            const char *name = json_text(json_array_get(names, k), "name");

            if (name && !has_name(claims, json_array_size(claims), name))
                cause_not_found(causes, PATH(PATH_INDEX(here, k), "name"), name);
        }
    }
}

void pod_validate_claims(const json_t *spec, const struct path *at, struct causes *causes)
{
    const json_t *list = json_object_get(spec, "resourceClaims");

    for (size_t i = 0; i < json_array_size(list); i++)
        validate_claim(spec, i, PATH(at, "resourceClaims"), causes);
    validate_names(spec, "containers", at, causes);
    validate_names(spec, "initContainers", at, causes);
}

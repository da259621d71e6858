/* pod_volume_claims.c - the annotation of a pod's persistent volumes */

#include "kinds/pod/pod_volume_claims.h"

#include "base/mem.h"
#include "base/num.h"

static const char *volumes_text(const json_t *pod)
{
    return json_text_at(pod, "metadata", "annotations", POD_VOLUMES, NULL);
}

char *pod_volume_claim(const json_t *pod, const json_t *volume)
{
    const char *name = json_text_at(volume, "persistentVolumeClaim", "claimName", NULL);

    if (name)
        return mem_strdup(name);
    if (!json_object_get(volume, "ephemeral"))
        return NULL;
    return mem_format("%s-%s", text_or_empty(json_text_at(pod, "metadata", "name", NULL)),
                      text_or_empty(json_text(volume, "name")));
}

bool pod_has_volume_claims(const json_t *pod)
{
    const json_t *volumes = json_at(pod, "spec", "volumes", NULL);

    for (size_t i = 0; i < json_array_size(volumes); i++) {
        const json_t *volume = json_array_get(volumes, i);

        if (json_object_get(volume, "persistentVolumeClaim") ||
            json_object_get(volume, "ephemeral"))
            return true;
    }
    return false;
}

const char *pod_volumes_wait(const json_t *pod)
{
    const char *text = volumes_text(pod);

    if (!text || !text_starts_with(text, POD_VOLUMES_WAIT))
        return NULL;
    return text + sizeof(POD_VOLUMES_WAIT) - 1;
}

char *pod_volumes_node(const json_t *pod)
{
    struct str rest = str_of(volumes_text(pod));
    struct str line = str_cut(&rest, '\n');
    struct str word = line.at ? str_cut(&line, ' ') : (struct str){0};

    if (!str_equal(word, STR("ready")) || !line.at)
        return mem_strdup("");
    return mem_strndup(line.at, line.size);
}

static bool read_line(struct str line, struct pod_volume *ret)
{
    AUTO(err_freep) struct err *e = NULL;
    struct pod_volume v = {0};
    struct str size;

    v.claim = str_cut(&line, ' ');
    v.volume = line.at ? str_cut(&line, ' ') : (struct str){0};
    size = line.at ? str_cut(&line, ' ') : (struct str){0};
    if (!line.at || line.size == 0)
        return false;
    if (!str_equal(line, STR("-")))
        v.path = line;
    e = num_parse_int64(size, 0, INT64_MAX, &v.bytes);
    if (e)
        return false;
    *ret = v;
    return true;
}

bool pod_volume_find(const json_t *pod, const char *claim, struct pod_volume *ret)
{
    struct str rest = str_of(volumes_text(pod));
    struct pod_volume v = {0};

    if (!rest.at || pod_volumes_wait(pod))
        return false;
    (void)str_cut(&rest, '\n');
    while (rest.at && rest.size > 0)
        if (read_line(str_cut(&rest, '\n'), &v) && str_equal(v.claim, str_of(claim))) {
            *ret = v;
            return true;
        }
    return false;
}

bool pod_volumes_are_bound(const json_t *pod)
{
    const json_t *volumes = json_at(pod, "spec", "volumes", NULL);

    for (size_t i = 0; i < json_array_size(volumes); i++) {
        AUTO_FREE char *claim = pod_volume_claim(pod, json_array_get(volumes, i));
        struct pod_volume v = {0};

        if (claim && !pod_volume_find(pod, claim, &v))
            return false;
    }
    return true;
}

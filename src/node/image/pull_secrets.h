/*
 * pull_secrets.h - registry credentials from a pod's imagePullSecrets
 * (kubernetes.io/dockerconfigjson and kubernetes.io/dockercfg)
 */
#pragma once

#include "base/json.h"
#include "model/image_name.h"

struct pull_login {
    char *username; /* NULL: no credentials for this image */
    char *password;
};

/*
 * Finds the login with the longest registry or repository prefix of `image` in the Secrets that
 * `pod` names, among `refs` (refs.h). Missing and malformed Secrets are ignored: the registry
 * refuses the pull then.
 */
void pull_secrets_find(const json_t *pod, const json_t *refs, const struct image_name *image,
                       struct pull_login *ret);
/* The same for one text: {"auths":{"REGISTRY":{"auth":...}}}, or without "auths". Replaces `ret`
 * only if the prefix is longer than `*ret_fit`, in bytes. */
void pull_secret_read(struct str text, const struct image_name *image, struct pull_login *ret,
                      size_t *ret_fit);
void pull_login_done(struct pull_login *l);

/* assets.c - answers with the files of the front end: kept by browsers for ever, compressed */

#include "page/assets.h"

#include "base/mem.h"

static const struct asset *asset_find(const char *path)
{
    for (size_t i = 0; i < assets_count; i++)
        if (text_equal(assets[i].path, path))
            return &assets[i];
    return NULL;
}

/* Does the client accept the encoding? A quality of 0 refuses it. */
static bool accepts(const struct api_request *r, const char *encoding)
{
    struct str rest = str_of(request_header(r, "accept-encoding"));

    while (rest.at && rest.size > 0) {
        struct str one = str_cut(&rest, ',');
        struct str name = str_cut(&one, ';');

        while (name.size > 0 && name.at[0] == ' ') {
            name.at++;
            name.size--;
        }
        if (str_equal(name, str_of(encoding)))
            return !one.at || !memmem(one.at, one.size, "q=0", 3) ||
                   memmem(one.at, one.size, "q=0.", 4);
    }
    return false;
}

void assets_answer(struct exchange *x, const char *security)
{
    const struct asset *a = asset_find(x->request.path);
    bool is_brotli = a && a->brotli.size > 0 && accepts(&x->request, "br");
    bool is_gzip = a && !is_brotli && a->gzip.size > 0 && accepts(&x->request, "gzip");
    bool is_known = a && text_equal(request_header(&x->request, "if-none-match"), a->etag);
    AUTO_FREE char *headers = mem_format("%sVary: Accept-Encoding\r\n%s%s%s%s", security,
                                         a ? "ETag: " : "", a ? a->etag : "", a ? "\r\n" : "",
                                         is_known    ? ""
                                         : is_brotli ? "Content-Encoding: br\r\n"
                                         : is_gzip   ? "Content-Encoding: gzip\r\n"
                                                     : "");
    struct api_reply r = {.status = 404,
                          .content_type = "text/plain; charset=utf-8",
                          .body = STR("there is no such file\n"),
                          .headers = headers};

    if (a)
        r = (struct api_reply){.status = is_known ? 304 : 200,
                               .content_type = a->content_type,
                               .cache = "public, max-age=31536000, immutable",
                               .body = is_known    ? (struct str){0}
                                       : is_brotli ? a->brotli
                                       : is_gzip   ? a->gzip
                                                   : a->plain,
                               .headers = headers};
    x->ops->reply(x, &r);
}

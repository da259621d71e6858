/* request.c - a request's headers */

#include "http/request.h"

const char *request_header(const struct api_request *r, const char *name)
{
    for (size_t i = 0; i < r->n_headers; i++) {
        if (text_equal(r->headers[i].name, name))
            return r->headers[i].value;
    }
    return NULL;
}

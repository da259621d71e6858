/* http_head.c - the request line, the headers, the framing of the body */

#include "http/http_head.h"

#include "base/mem.h"

enum {
    METHOD_MAX = 16,
    CONTENT_LENGTH_DIGITS = 15
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Is `c` a character of names of headers and methods (RFC 9110, 5.6.2)? */
static bool is_token_char(char c)
{
    if (is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return true;
    return c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL;
}

static bool is_control(char c)
{
    return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

/* Cuts off the next line and its CRLF, NUL-terminated in place. NULL: the line does not end in
 * CRLF. */
static char *cut_line(char **rest, const char *end)
{
    char *line = *rest;
    char *lf = memchr(line, '\n', (size_t)(end - line));

    if (!lf || lf == line || lf[-1] != '\r')
        return NULL;
    lf[-1] = '\0';
    *rest = lf + 1;
    return line;
}

static struct err *check_line(const char *line, const char *end)
{
    for (const char *at = line; at < end; at++) {
        if (is_control(*at))
            return err_new(ERR_BAD_REQUEST, "control byte 0x%02x in the request's head",
                           (unsigned)(unsigned char)*at);
    }
    return NULL;
}

static struct err *parse_version(const char *text, struct http_head *head)
{
    if (text_equal(text, "HTTP/1.1"))
        return NULL;
    if (!text_equal(text, "HTTP/1.0"))
        return err_new(ERR_BAD_REQUEST, "protocol version is not supported: want HTTP/1.1");
    head->is_http10 = true;
    head->wants_close = true;
    return NULL;
}

static struct err *parse_target(char *target, struct http_head *head)
{
    char *query;

    if (*target != '/')
        return err_new(ERR_BAD_REQUEST, "request target does not begin with '/'");
    for (const char *at = target; *at; at++) {
        if ((unsigned char)*at <= 0x20 || (unsigned char)*at >= 0x7f || *at == '#')
            return err_new(ERR_BAD_REQUEST, "byte 0x%02x in the request target is not allowed",
                           (unsigned)(unsigned char)*at);
    }
    head->path = target;
    head->query = "";
    query = strchr(target, '?');
    if (query) {
        *query = '\0';
        head->query = query + 1;
    }
    return NULL;
}

static struct err *parse_request_line(char *line, struct http_head *head)
{
    char *target = strchr(line, ' ');
    char *version = target ? strchr(target + 1, ' ') : NULL;

    if (!target || !version)
        return err_new(ERR_BAD_REQUEST, "malformed request line: want METHOD TARGET HTTP/1.1");
    *target++ = '\0';
    *version++ = '\0';
    for (const char *at = line; *at; at++) {
        if (*at < 'A' || *at > 'Z')
            return err_new(ERR_BAD_REQUEST, "malformed method in the request line");
    }
    if (*line == '\0' || strlen(line) > METHOD_MAX)
        return err_new(ERR_BAD_REQUEST, "malformed method in the request line");
    head->method = line;
    TRY(parse_version(version, head));
    return parse_target(target, head);
}

static struct err *parse_header(char *line, struct http_header *ret)
{
    char *colon = strchr(line, ':');
    char *value;
    size_t size;

    if (*line == ' ' || *line == '\t')
        return err_new(ERR_BAD_REQUEST, "folded header lines are not accepted");
    if (!colon || colon == line)
        return err_new(ERR_BAD_REQUEST, "header line without a name and a colon");
    for (char *at = line; at < colon; at++) {
        if (!is_token_char(*at))
            return err_new(ERR_BAD_REQUEST, "byte 0x%02x in a header's name is not allowed",
                           (unsigned)(unsigned char)*at);
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at - 'A' + 'a');
    }
    *colon = '\0';
    value = colon + 1;
    value += strspn(value, " \t");
    size = strlen(value);
    while (size > 0 && (value[size - 1] == ' ' || value[size - 1] == '\t'))
        value[--size] = '\0';
    *ret = (struct http_header){.name = line, .value = value};
    return NULL;
}

/* Is a second header of this name ambiguous? */
static bool is_single(const char *name)
{
    static const char *const names[] = {"content-length", "transfer-encoding", "host",
                                        "authorization",  "content-type",      "expect"};

    for (size_t i = 0; i < COUNT(names); i++) {
        if (text_equal(name, names[i]))
            return true;
    }
    return false;
}

static const char *find_header(const struct http_head *head, const char *name)
{
    for (size_t i = 0; i < head->n_headers; i++) {
        if (text_equal(head->headers[i].name, name))
            return head->headers[i].value;
    }
    return NULL;
}

static struct err *add_header(struct http_head *head, char *line)
{
    struct http_header header = {0};

    TRY(parse_header(line, &header));
    if (is_single(header.name) && find_header(head, header.name))
        return err_new(ERR_BAD_REQUEST, "header '%s' is given twice", header.name);
    if (head->n_headers == HTTP_HEADERS_MAX)
        return err_new(ERR_BAD_REQUEST, "more than %d headers", (int)HTTP_HEADERS_MAX);
    head->headers[head->n_headers++] = header;
    return NULL;
}

static struct err *parse_content_length(const char *text, int64_t *ret)
{
    size_t size = strlen(text);
    int64_t value = 0;

    if (size == 0 || size > CONTENT_LENGTH_DIGITS || strspn(text, "0123456789") != size)
        return err_new(ERR_BAD_REQUEST, "content-length is not a decimal number of bytes");
    for (const char *at = text; *at; at++)
        value = value * 10 + (*at - '0');
    *ret = value;
    return NULL;
}

/* Reads the length of the body: RFC 9112, 6.3, without its lenience. */
static struct err *parse_framing(struct http_head *head)
{
    const char *length = find_header(head, "content-length");
    const char *coding = find_header(head, "transfer-encoding");

    head->content_length = -1;
    if (length && coding)
        return err_new(ERR_BAD_REQUEST, "content-length and transfer-encoding exclude each other");
    if (coding && (head->is_http10 || strcasecmp(coding, "chunked") != 0))
        return err_new(ERR_BAD_REQUEST, "transfer-encoding other than 'chunked' is not supported");
    head->is_chunked = coding != NULL;
    if (length)
        TRY(parse_content_length(length, &head->content_length));
    return NULL;
}

/* Does a comma-separated header have `token`? */
static bool has_token(const char *list, const char *token)
{
    size_t size = strlen(token);

    while (list && *list) {
        list += strspn(list, " \t,");
        if (strncasecmp(list, token, size) == 0 && strchr(", \t", list[size]))
            return true;
        list = strchr(list, ',');
    }
    return false;
}

static struct err *parse_connection(struct http_head *head)
{
    const char *connection = find_header(head, "connection");
    const char *expect = find_header(head, "expect");

    if (!head->is_http10 && !find_header(head, "host"))
        return err_new(ERR_BAD_REQUEST, "header 'host' is missing");
    if (has_token(connection, "close"))
        head->wants_close = true;
    if (expect && strcasecmp(expect, "100-continue") != 0)
        return err_new(ERR_BAD_REQUEST, "header 'expect' has a value other than 100-continue");
    head->wants_continue = expect != NULL && !head->is_http10;
    return NULL;
}

struct err *http_head_parse(char *text, size_t size, struct http_head *ret)
{
    struct http_head head = {0};
    const char *end = text + size;
    char *rest = text;
    char *line = cut_line(&rest, end);

    if (!line)
        return err_new(ERR_BAD_REQUEST, "lines of a request's head end in CR LF");
    TRY(check_line(line, rest - 2));
    TRY(parse_request_line(line, &head));
    for (;;) {
        line = rest < end ? cut_line(&rest, end) : NULL;
        if (!line)
            return err_new(ERR_BAD_REQUEST, "lines of a request's head end in CR LF");
        if (*line == '\0' && rest - line == 2)
            break;
        TRY(check_line(line, rest - 2));
        TRY(add_header(&head, line));
    }
    TRY(parse_framing(&head));
    TRY(parse_connection(&head));
    *ret = head;
    return NULL;
}

/*
 * pattern_parse.c - the text of a pattern to its program
 *
 * A recursive descent writes the program while it reads. A repeat copies the steps of its atom:
 * they are one piece at the end of the program, with jumps inside it or to its end.
 */

#include <ctype.h>

#include "base/mem.h"
#include "model/pattern_private.h"

enum {
    DEPTH_MAX = 100,
    REPEATS_MAX = 1000,
    RANGES_MAX = 64 << 10,
    CODE_POINT_MAX = 0x10ffff
};

struct flags {
    bool has_no_case;
    bool has_lines;  /* m */
    bool has_dot_nl; /* s */
    bool is_lazy;    /* U */
};

struct parser {
    struct pattern *p;
    struct str text;
    size_t at;
    unsigned depth;
    struct flags flags;
};

/* Recursive: groups hold alternatives. The text's depth is capped. */
static struct err *parse_alternatives(struct parser *r);

static struct err *fault(const char *what, struct str where)
{
    return err_new(ERR_INVALID, "error parsing regexp: %s: `" STR_FMT "`", what, STR_ARG(where));
}

static struct str from(const struct parser *r, size_t begin)
{
    return (struct str){r->text.at + begin, r->at - begin};
}

static char peek_at(const struct parser *r, size_t ahead)
{
    return r->at + ahead < r->text.size ? r->text.at[r->at + ahead] : '\0';
}

static bool is_over(const struct parser *r)
{
    return r->at >= r->text.size;
}

static bool take(struct parser *r, const char *text)
{
    size_t size = strlen(text);

    if (r->text.size - r->at < size || memcmp(r->text.at + r->at, text, size) != 0)
        return false;
    r->at += size;
    return true;
}

/* ---- the program ---- */

static struct err *add_step(struct parser *r, struct pattern_step step)
{
    if (r->p->steps.n >= PATTERN_PROGRAM_MAX)
        return fault("expression too large", r->text);
    vec_add(&r->p->steps, step);
    return NULL;
}

static struct err *add_range(struct parser *r, uint32_t first, uint32_t last)
{
    if (r->p->ranges.n >= RANGES_MAX)
        return fault("expression too large", r->text);
    vec_add(&r->p->ranges, (struct pattern_range){first, last});
    return NULL;
}

/* Adds a range to the set under way, in both cases if case has no meaning. */
static struct err *add_cased(struct parser *r, uint32_t first, uint32_t last)
{
    TRY(add_range(r, first, last));
    if (!r->flags.has_no_case)
        return NULL;
    for (uint32_t c = first < 'A' ? 'A' : first; c <= last && c <= 'z'; c++) {
        uint32_t other = c ^ 0x20;

        if (isalpha((int)c))
            TRY(add_range(r, other, other));
    }
    return NULL;
}

/* Ends a set whose ranges begin at `range_at`. */
static struct err *add_set(struct parser *r, size_t range_at)
{
    size_t next = r->p->steps.n + 1;

    return add_step(r, (struct pattern_step){.op = PATTERN_SET,
                                             .next = next,
                                             .range_at = range_at,
                                             .n_ranges = r->p->ranges.n - range_at});
}

static struct err *add_edge(struct parser *r, enum pattern_edge edge)
{
    return add_step(
        r, (struct pattern_step){.op = PATTERN_EDGE, .edge = edge, .next = r->p->steps.n + 1});
}

static int compare_ranges(const void *a, const void *b)
{
    const struct pattern_range *x = a;
    const struct pattern_range *y = b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->last < y->last ? -1 : x->last > y->last;
}

/* Replaces the ranges from `begin` on by all other code points. */
static struct err *negate(struct parser *r, size_t begin)
{
    size_t n = r->p->ranges.n - begin;
    struct pattern_range *own = NULL;
    struct err *e = NULL;
    uint32_t next = 0;

    if (n > 0)
        own = mem_dup(r->p->ranges.at + begin, n * sizeof(*own));
    if (n > 1)
        qsort(own, n, sizeof(*own), compare_ranges);
    r->p->ranges.n = begin;
    for (size_t i = 0; i < n && !e; i++) {
        if (own[i].first > next)
            e = add_range(r, next, own[i].first - 1);
        if (own[i].last >= next)
            next = own[i].last + 1;
    }
    free(own);
    if (!e && next <= CODE_POINT_MAX)
        e = add_range(r, next, CODE_POINT_MAX);
    return e;
}

/* ---- classes ---- */

static const struct {
    const char *name;
    struct pattern_range ranges[4];
    size_t n;
} named[] = {
    {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}, 3},
    {"alpha", {{'A', 'Z'}, {'a', 'z'}}, 2},
    {"ascii", {{0, 0x7f}}, 1},
    {"blank", {{'\t', '\t'}, {' ', ' '}}, 2},
    {"cntrl", {{0, 0x1f}, {0x7f, 0x7f}}, 2},
    {"digit", {{'0', '9'}}, 1},
    {"graph", {{'!', '~'}}, 1},
    {"lower", {{'a', 'z'}}, 1},
    {"print", {{' ', '~'}}, 1},
    {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}, 4},
    {"space", {{'\t', '\r'}, {' ', ' '}}, 2},
    {"upper", {{'A', 'Z'}}, 1},
    {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}, 4},
    {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}, 3},
    /* The escapes \d \s \w. */
    {"d", {{'0', '9'}}, 1},
    {"s", {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}, 3},
    {"w", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}, 4},
};

/* Adds a named set or its opposite. False: no such name. */
static bool add_named(struct parser *r, struct str name, bool is_not, struct err **ret)
{
    for (size_t i = 0; i < COUNT(named); i++) {
        size_t begin = r->p->ranges.n;

        if (!str_equal(name, str_of(named[i].name)))
            continue;
        for (size_t j = 0; j < named[i].n && !*ret; j++)
            *ret = add_cased(r, named[i].ranges[j].first, named[i].ranges[j].last);
        if (is_not && !*ret)
            *ret = negate(r, begin);
        return true;
    }
    return false;
}

/* Adds the set of \d and its like at the cursor, which stands behind the backslash. False: another
 * escape. */
static bool take_class(struct parser *r, struct err **ret)
{
    char c = peek_at(r, 0);
    char lower = (char)tolower((unsigned char)c);

    if (c == '\0' || !strchr("dDsSwW", c))
        return false;
    r->at++;
    return add_named(r, (struct str){&lower, 1}, c != lower, ret);
}

/* The code point at the cursor, which goes behind it. */
static struct err *take_point(struct parser *r, uint32_t *ret)
{
    unsigned char c = (unsigned char)r->text.at[r->at];
    size_t size = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    uint32_t point = size == 1 ? c : c & (0xffu >> (size + 1));

    if (r->text.size - r->at < size)
        return fault("invalid UTF-8", r->text);
    for (size_t i = 1; i < size; i++)
        point = point << 6 | ((unsigned char)r->text.at[r->at + i] & 0x3fu);
    r->at += size;
    *ret = point;
    return NULL;
}

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads \x41 or \x{41}, behind the "x". */
static struct err *take_hex(struct parser *r, size_t begin, uint32_t *ret)
{
    bool is_braced = take(r, "{");
    uint32_t point = 0;
    size_t n = 0;

    while (hex_of(peek_at(r, 0)) >= 0 && (is_braced ? n < 6 : n < 2)) {
        point = point * 16 + (uint32_t)hex_of(peek_at(r, 0));
        r->at++;
        n++;
    }
    if (n == 0 || (!is_braced && n < 2) || (is_braced && !take(r, "}")) || point > CODE_POINT_MAX)
        return fault("invalid escape sequence", from(r, begin));
    *ret = point;
    return NULL;
}

/* Reads the code point of an escape; the cursor stands behind the backslash. */
static struct err *take_escape(struct parser *r, uint32_t *ret)
{
    static const char names[] = "nrtafv";
    static const char values[] = "\n\r\t\a\f\v";
    size_t begin = r->at - 1;
    char c = peek_at(r, 0);
    const char *found = c ? strchr(names, c) : NULL;

    if (is_over(r))
        return fault("trailing backslash at end of expression", STR(""));
    if ((unsigned char)c >= 0x80 || (!isalnum((unsigned char)c) && c != '\0'))
        return take_point(r, ret);
    r->at++;
    if (c == 'x')
        return take_hex(r, begin, ret);
    if (c == '0') {
        uint32_t point = 0;

        for (int i = 0; i < 2 && peek_at(r, 0) >= '0' && peek_at(r, 0) <= '7'; i++)
            point = point * 8 + (uint32_t)(r->text.at[r->at++] - '0');
        *ret = point;
        return NULL;
    }
    if (!found)
        return fault("invalid escape sequence", from(r, begin));
    *ret = (unsigned char)values[found - names];
    return NULL;
}

static struct err *take_class_point(struct parser *r, uint32_t *ret)
{
    if (is_over(r))
        return fault("missing closing ]", r->text);
    if (!take(r, "\\"))
        return take_point(r, ret);
    return take_escape(r, ret);
}

/* Adds [:alpha:] at the cursor. False: something else is there. */
static bool take_posix(struct parser *r, struct err **ret)
{
    struct str rest = {r->text.at + r->at, r->text.size - r->at};
    const char *end = rest.size > 2 ? memmem(rest.at + 2, rest.size - 2, ":]", 2) : NULL;
    struct str name;
    bool is_not;

    if (rest.size < 4 || rest.at[0] != '[' || rest.at[1] != ':' || !end)
        return false;
    is_not = rest.at[2] == '^';
    name = (struct str){rest.at + 2 + is_not, (size_t)(end - rest.at) - 2 - is_not};
    if (!add_named(r, name, is_not, ret) || name.size == 1)
        *ret = fault("invalid character class range",
                     (struct str){rest.at, (size_t)(end - rest.at) + 2});
    r->at += (size_t)(end - rest.at) + 2;
    return true;
}

static struct err *parse_class_item(struct parser *r)
{
    size_t begin = r->at;
    uint32_t first = 0;
    uint32_t last = 0;
    struct err *e = NULL;

    if (take_posix(r, &e))
        return e;
    if (peek_at(r, 0) == '\\') {
        r->at++;
        if (take_class(r, &e))
            return e;
        r->at--;
    }
    TRY(take_class_point(r, &first));
    last = first;
    if (peek_at(r, 0) == '-' && peek_at(r, 1) != ']' && r->at + 1 < r->text.size) {
        r->at++;
        TRY(take_class_point(r, &last));
    }
    if (last < first)
        return fault("invalid character class range", from(r, begin));
    return add_cased(r, first, last);
}

/* Behind "[". */
static struct err *parse_class(struct parser *r)
{
    size_t begin = r->at - 1;
    size_t range_at = r->p->ranges.n;
    bool is_not = take(r, "^");
    bool is_first = true;

    while (is_first || peek_at(r, 0) != ']') {
        if (is_over(r))
            return fault("missing closing ]",
                         (struct str){r->text.at + begin, r->text.size - begin});
        TRY(parse_class_item(r));
        is_first = false;
    }
    r->at++;
    if (is_not)
        TRY(negate(r, range_at));
    return add_set(r, range_at);
}

/* ---- atoms ---- */

static struct err *parse_literal(struct parser *r, uint32_t point)
{
    size_t range_at = r->p->ranges.n;

    TRY(add_cased(r, point, point));
    return add_set(r, range_at);
}

static struct err *parse_any(struct parser *r)
{
    size_t range_at = r->p->ranges.n;

    if (r->flags.has_dot_nl) {
        TRY(add_range(r, 0, CODE_POINT_MAX));
    } else {
        TRY(add_range(r, 0, '\n' - 1));
        TRY(add_range(r, '\n' + 1, CODE_POINT_MAX));
    }
    return add_set(r, range_at);
}

/* Adds a literal text up to \E, behind \Q. */
static struct err *parse_quoted(struct parser *r)
{
    while (!is_over(r) && !take(r, "\\E")) {
        uint32_t point = 0;

        TRY(take_point(r, &point));
        TRY(parse_literal(r, point));
    }
    return NULL;
}

/* Behind a backslash. */
static struct err *parse_escape(struct parser *r)
{
    size_t range_at = r->p->ranges.n;
    uint32_t point = 0;
    struct err *e = NULL;

    if (take_class(r, &e))
        return e ? e : add_set(r, range_at);
    if (take(r, "A"))
        return add_edge(r, EDGE_TEXT_BEGIN);
    if (take(r, "z"))
        return add_edge(r, EDGE_TEXT_END);
    if (take(r, "b"))
        return add_edge(r, EDGE_WORD);
    if (take(r, "B"))
        return add_edge(r, EDGE_NOT_WORD);
    if (take(r, "Q"))
        return parse_quoted(r);
    if (peek_at(r, 0) == 'p' || peek_at(r, 0) == 'P')
        return err_new(ERR_INVALID,
                       "error parsing regexp: Unicode classes (\\p) are not implemented by mete");
    TRY(take_escape(r, &point));
    return parse_literal(r, point);
}

/* Reads flags at the cursor, up to ":" or ")". */
static struct err *take_flags(struct parser *r, size_t begin, bool *ret_is_group)
{
    bool is_on = true;

    for (;;) {
        char c = peek_at(r, 0);

        if (is_over(r))
            return fault("missing closing )", r->text);
        r->at++;
        if (c == 'i')
            r->flags.has_no_case = is_on;
        else if (c == 'm')
            r->flags.has_lines = is_on;
        else if (c == 's')
            r->flags.has_dot_nl = is_on;
        else if (c == 'U')
            r->flags.is_lazy = is_on;
        else if (c == '-' && is_on)
            is_on = false;
        else if (c == ':' || c == ')') {
            *ret_is_group = c == ':';
            return NULL;
        } else {
            return fault("invalid or unsupported Perl syntax", from(r, begin));
        }
    }
}

/* Behind "(?". Flags alone hold for the rest of the group around. */
static struct err *parse_group_head(struct parser *r, size_t begin, bool *ret_is_group)
{
    *ret_is_group = true;
    if (take(r, "P<") ||
        (peek_at(r, 0) == '<' && peek_at(r, 1) != '=' && peek_at(r, 1) != '!' && take(r, "<"))) {
        while (isalnum((unsigned char)peek_at(r, 0)) || peek_at(r, 0) == '_')
            r->at++;
        if (take(r, ">"))
            return NULL;
        return fault("invalid named capture", from(r, begin));
    }
    return take_flags(r, begin, ret_is_group);
}

/* Behind "(". */
static struct err *parse_group(struct parser *r)
{
    size_t begin = r->at - 1;
    struct flags before = r->flags;
    bool is_group = true;

    if (++r->depth > DEPTH_MAX)
        return fault("expression nests too deeply", r->text);
    if (take(r, "?"))
        TRY(parse_group_head(r, begin, &is_group));
    if (is_group) {
        TRY(parse_alternatives(r));
        if (!take(r, ")"))
            return fault("missing closing )", r->text);
        r->flags = before;
    }
    r->depth--;
    return NULL;
}

static struct err *parse_atom(struct parser *r)
{
    uint32_t point = 0;

    if (take(r, "("))
        return parse_group(r);
    if (take(r, "["))
        return parse_class(r);
    if (take(r, "."))
        return parse_any(r);
    if (take(r, "^"))
        return add_edge(r, r->flags.has_lines ? EDGE_LINE_BEGIN : EDGE_TEXT_BEGIN);
    if (take(r, "$"))
        return add_edge(r, r->flags.has_lines ? EDGE_LINE_END : EDGE_TEXT_END);
    if (take(r, "\\"))
        return parse_escape(r);
    if (strchr("*+?", peek_at(r, 0)))
        return fault("missing argument to repetition operator",
                     (struct str){r->text.at + r->at, 1});
    TRY(take_point(r, &point));
    return parse_literal(r, point);
}

/* ---- repeats ---- */

struct repeat {
    unsigned least;
    unsigned most; /* UINT32_MAX: no limit */
    bool is_lazy;
};

static bool take_count(struct parser *r, unsigned *ret)
{
    size_t begin = r->at;
    unsigned n = 0;

    while (isdigit((unsigned char)peek_at(r, 0)) && n <= REPEATS_MAX)
        n = n * 10 + (unsigned)(r->text.at[r->at++] - '0');
    *ret = n;
    return r->at > begin;
}

/* Reads "{n}", "{n,}" or "{n,m}". False: a literal brace. */
static bool take_bounds(struct parser *r, struct repeat *ret)
{
    size_t begin = r->at;

    if (!take(r, "{"))
        return false;
    if (take_count(r, &ret->least)) {
        ret->most = ret->least;
        if (take(r, ",") && !take_count(r, &ret->most))
            ret->most = UINT32_MAX;
        if (take(r, "}"))
            return true;
    }
    r->at = begin;
    return false;
}

static bool take_repeat(struct parser *r, struct repeat *ret)
{
    *ret = (struct repeat){.most = UINT32_MAX};
    if (take(r, "+"))
        ret->least = 1;
    else if (take(r, "?"))
        ret->most = 1;
    else if (!take(r, "*") && !take_bounds(r, ret))
        return false;
    ret->is_lazy = take(r, "?") != r->flags.is_lazy;
    return true;
}

/* Appends a copy of the steps `begin` .. `end`. */
static struct err *add_copy(struct parser *r, size_t begin, size_t end)
{
    size_t shift = r->p->steps.n - begin;

    for (size_t i = begin; i < end; i++) {
        struct pattern_step step = r->p->steps.at[i];

        step.next += shift;
        step.other += shift;
        TRY(add_step(r, step));
    }
    return NULL;
}

static struct pattern_step split(size_t body, size_t past, bool is_lazy)
{
    return (struct pattern_step){
        .op = PATTERN_SPLIT, .next = is_lazy ? past : body, .other = is_lazy ? body : past};
}

/* Writes `split body` or `split body jump`: the steps of the atom lie in `atom`. */
static struct err *add_optional(struct parser *r, const struct pattern_step *atom, size_t n,
                                size_t atom_at, const struct repeat *rep, bool loops)
{
    size_t at = r->p->steps.n;
    size_t past = at + 1 + n + loops;

    TRY(add_step(r, split(at + 1, past, rep->is_lazy)));
    for (size_t i = 0; i < n; i++) {
        struct pattern_step step = atom[i];

        step.next += at + 1 - atom_at;
        step.other += at + 1 - atom_at;
        TRY(add_step(r, step));
    }
    if (loops)
        TRY(add_step(r, (struct pattern_step){.op = PATTERN_JUMP, .next = at}));
    return NULL;
}

/* Repeats the steps from `begin` on. */
static struct err *add_repeat(struct parser *r, size_t begin, const struct repeat *rep)
{
    size_t n = r->p->steps.n - begin;
    struct pattern_step *atom = n > 0 ? mem_dup(r->p->steps.at + begin, n * sizeof(*atom)) : NULL;
    struct err *e = NULL;

    if (rep->least == 0)
        r->p->steps.n = begin;
    for (unsigned i = 1; i < rep->least && n > 0 && !e; i++)
        e = add_copy(r, begin, begin + n);
    if (rep->most == UINT32_MAX && rep->least > 0 && n > 0 && !e)
        e = add_step(r, split(r->p->steps.n - n, r->p->steps.n + 1, rep->is_lazy));
    else if (rep->most == UINT32_MAX && n > 0 && !e)
        e = add_optional(r, atom, n, begin, rep, true);
    for (unsigned i = rep->least; rep->most != UINT32_MAX && i < rep->most && n > 0 && !e; i++)
        e = add_optional(r, atom, n, begin, rep, false);
    free(atom);
    return e;
}

static struct err *parse_repeated(struct parser *r)
{
    size_t begin = r->p->steps.n;
    size_t at;
    struct repeat rep;

    TRY(parse_atom(r));
    at = r->at;
    if (!take_repeat(r, &rep))
        return NULL;
    if (rep.least > REPEATS_MAX || (rep.most != UINT32_MAX && rep.most > REPEATS_MAX) ||
        rep.most < rep.least)
        return fault("invalid repeat count", from(r, at));
    TRY(add_repeat(r, begin, &rep));
    if (peek_at(r, 0) && strchr("*+?", peek_at(r, 0))) {
        (void)take_repeat(r, &rep);
        return fault("invalid nested repetition operator", from(r, at));
    }
    return NULL;
}

/* ---- alternatives ---- */

static struct err *parse_sequence(struct parser *r)
{
    while (!is_over(r) && peek_at(r, 0) != '|' && peek_at(r, 0) != ')')
        TRY(parse_repeated(r));
    return NULL;
}

/* Makes room for a split before the steps from `begin` on. */
static struct err *insert_step(struct parser *r, size_t begin)
{
    TRY(add_step(r, (struct pattern_step){0}));
    memmove(&r->p->steps.at[begin + 1], &r->p->steps.at[begin],
            (r->p->steps.n - 1 - begin) * sizeof(*r->p->steps.at));
    for (size_t i = begin + 1; i < r->p->steps.n; i++) {
        r->p->steps.at[i].next++;
        r->p->steps.at[i].other++;
    }
    return NULL;
}

static struct err *parse_alternatives(struct parser *r)
{
    VEC(size_t) jumps = {0};
    size_t begin = r->p->steps.n;
    struct err *e = parse_sequence(r);

    while (!e && take(r, "|")) {
        e = insert_step(r, begin);
        if (!e)
            e = add_step(r, (struct pattern_step){.op = PATTERN_JUMP});
        if (e)
            break;
        vec_add(&jumps, r->p->steps.n - 1);
        r->p->steps.at[begin] = split(begin + 1, r->p->steps.n, false);
        begin = r->p->steps.n;
        e = parse_sequence(r);
    }
    VEC_EACH (&jumps, at)
        r->p->steps.at[*at].next = r->p->steps.n;
    vec_done(&jumps);
    return e;
}

static struct err *parse_all(struct parser *r)
{
    if (r->text.size > PATTERN_TEXT_MAX)
        return err_new(ERR_INVALID, "error parsing regexp: the pattern has %zu bytes, at most %d",
                       r->text.size, PATTERN_TEXT_MAX);
    TRY(parse_alternatives(r));
    if (!is_over(r))
        return fault("unexpected )", r->text);
    return add_step(r, (struct pattern_step){.op = PATTERN_MATCH});
}

struct err *pattern_parse(struct str text, struct pattern **ret)
{
    struct parser r = {.p = mem_alloc(sizeof(*r.p)), .text = {text.at ? text.at : "", text.size}};
    struct err *e = parse_all(&r);

    if (e) {
        pattern_free(r.p);
        return e;
    }
    *ret = r.p;
    return NULL;
}

void pattern_free(struct pattern *p)
{
    if (!p)
        return;
    vec_done(&p->steps);
    vec_done(&p->ranges);
    free(p);
}

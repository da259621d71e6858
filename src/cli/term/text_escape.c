/* text_escape.c - makes untrusted text harmless for a terminal */

#include "cli/term/text_escape.h"

#include <stdbool.h>

enum {
    TEXT,
    ESCAPE,
    CSI,
    STRING,
    STRING_ESCAPE,
    RETURN
};

struct range {
    uint32_t first;
    uint32_t last;
};

static bool is_in(uint32_t point, const struct range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    return false;
}

/* Bidirectional embeddings, overrides and isolates, line and paragraph separators, tags. */
static bool is_treacherous(uint32_t point)
{
    static const struct range ranges[] = {
        {0x80, 0x9F},     {0x061C, 0x061C}, {0x200E, 0x200F},
        {0x2028, 0x202E}, {0x2066, 0x2069}, {0xE0000, 0xE007F},
    };

    return is_in(point, ranges, COUNT(ranges));
}

static void add_point(struct buf *b, uint32_t point)
{
    if (point < 0x80) {
        buf_add_char(b, (char)point);
    } else if (point < 0x800) {
        buf_add_char(b, (char)(0xC0 | point >> 6));
        buf_add_char(b, (char)(0x80 | (point & 0x3F)));
    } else if (point < 0x10000) {
        buf_add_char(b, (char)(0xE0 | point >> 12));
        buf_add_char(b, (char)(0x80 | (point >> 6 & 0x3F)));
        buf_add_char(b, (char)(0x80 | (point & 0x3F)));
    } else {
        buf_add_char(b, (char)(0xF0 | point >> 18));
        buf_add_char(b, (char)(0x80 | (point >> 12 & 0x3F)));
        buf_add_char(b, (char)(0x80 | (point >> 6 & 0x3F)));
        buf_add_char(b, (char)(0x80 | (point & 0x3F)));
    }
}

static void take_control(struct text_escaper *c, uint32_t point, struct buf *ret)
{
    if (point == 0x1B)
        c->state = ESCAPE;
    else if (point == '\n' || point == '\t')
        buf_add_text(ret, c->how == TEXT_ESCAPE_LINE ? " " : point == '\n' ? "\n" : "\t");
    else if (point == '\r' && c->how == TEXT_ESCAPE_LOG)
        c->state = RETURN;
    else if (point == 0x9B)
        c->state = CSI;
    else if (point == 0x90 || point == 0x9D || point == 0x9E || point == 0x9F || point == 0x98)
        c->state = STRING;
}

static void take_text(struct text_escaper *c, uint32_t point, struct buf *ret)
{
    if (point < 0x20 || (point >= 0x7F && point <= 0x9F))
        take_control(c, point, ret);
    else if (!is_treacherous(point))
        add_point(ret, point);
}

/* After ESC: [ begins a CSI; ] P X ^ _ begin a string; intermediates continue; other bytes end the
 * sequence. */
static int after_escape(uint32_t point)
{
    if (point == '[')
        return CSI;
    if (point == ']' || point == 'P' || point == 'X' || point == '^' || point == '_')
        return STRING;
    return point == 0x1B || (point >= 0x20 && point <= 0x2F) ? ESCAPE : TEXT;
}

static void take_point(struct text_escaper *c, uint32_t point, struct buf *ret)
{
    bool is_line_end = point == '\n';

    switch (c->state) {
    case ESCAPE:
        c->state = after_escape(point);
        break;
    case CSI:
        if (point == 0x1B)
            c->state = ESCAPE;
        else if (is_line_end || (point >= 0x40 && point <= 0x7E))
            c->state = TEXT;
        break;
    case STRING:
        /* A line end terminates an unterminated string: some rubbish is better than a hidden log.
         */
        if (point == 0x07 || point == 0x9C || is_line_end)
            c->state = TEXT;
        else if (point == 0x1B)
            c->state = STRING_ESCAPE;
        break;
    case STRING_ESCAPE:
        c->state = point == '\\' || is_line_end ? TEXT : STRING;
        break;
    case RETURN:
        c->state = TEXT;
        if (!is_line_end)
            buf_add_char(ret, '\n');
        take_text(c, point, ret);
        return;
    default:
        take_text(c, point, ret);
        return;
    }
    if (is_line_end)
        take_text(c, point, ret);
}

static bool begin_sequence(struct text_escaper *c, unsigned char byte)
{
    if (byte >= 0xC2 && byte <= 0xDF)
        c->length = 1;
    else if (byte >= 0xE0 && byte <= 0xEF)
        c->length = 2;
    else if (byte >= 0xF0 && byte <= 0xF4)
        c->length = 3;
    else
        return false;
    c->missing = c->length;
    c->point = byte & (0x3Fu >> c->length);
    return true;
}

static bool is_scalar(uint32_t point, int length)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};

    return point >= least[length] && point <= 0x10FFFF && !(point >= 0xD800 && point <= 0xDFFF);
}

enum {
    REPLACEMENT = 0xFFFD
};

static void take_byte(struct text_escaper *c, unsigned char byte, struct buf *ret)
{
    if (c->missing > 0) {
        if ((byte & 0xC0) == 0x80) {
            c->point = c->point << 6 | (byte & 0x3F);
            if (--c->missing == 0)
                take_point(c, is_scalar(c->point, c->length) ? c->point : REPLACEMENT, ret);
            return;
        }
        c->missing = 0;
        take_point(c, REPLACEMENT, ret);
    }
    if (byte < 0x80)
        take_point(c, byte, ret);
    else if (!begin_sequence(c, byte))
        take_point(c, REPLACEMENT, ret);
}

void text_escape_piece(struct text_escaper *c, struct str piece, struct buf *ret)
{
    for (size_t i = 0; i < piece.size; i++)
        take_byte(c, (unsigned char)piece.at[i], ret);
}

char *text_escape(struct str text, enum text_escape_how how)
{
    struct text_escaper c = {.how = how};
    struct buf b = {0};

    text_escape_piece(&c, text, &b);
    if (c.missing > 0)
        take_point(&c, REPLACEMENT, &b);
    return buf_steal(&b);
}

static size_t width_of(uint32_t point)
{
    static const struct range none[] = {
        {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD},   {0x0610, 0x061A},
        {0x064B, 0x065F}, {0x200B, 0x200D}, {0x20D0, 0x20F0},   {0xFE00, 0xFE0F},
        {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF},
    };
    static const struct range two[] = {
        {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xAC00, 0xD7A3},
        {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
        {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD},
    };

    if (is_in(point, none, COUNT(none)))
        return 0;
    return is_in(point, two, COUNT(two)) ? 2 : 1;
}

/* Decodes one character of valid UTF-8; `*ret_size` is its number of bytes. */
static uint32_t escape_decode(const char *text, size_t *ret_size)
{
    struct text_escaper c = {0};
    unsigned char first = (unsigned char)text[0];
    size_t size = 1;

    *ret_size = 1;
    if (first < 0x80 || !begin_sequence(&c, first))
        return first < 0x80 ? first : REPLACEMENT;
    for (; c.missing > 0 && (text[size] & 0xC0) == 0x80; size++, c.missing--)
        c.point = c.point << 6 | ((unsigned char)text[size] & 0x3F);
    *ret_size = size;
    return c.missing > 0 ? REPLACEMENT : c.point;
}

size_t text_escape_width(const char *text)
{
    size_t width = 0;
    size_t size = 0;

    for (; *text; text += size)
        width += width_of(escape_decode(text, &size));
    return width;
}

size_t text_escape_fit(const char *text, size_t columns)
{
    size_t width = 0;
    size_t at = 0;
    size_t size = 0;

    while (text[at]) {
        width += width_of(escape_decode(text + at, &size));
        if (width > columns)
            break;
        at += size;
    }
    return at;
}

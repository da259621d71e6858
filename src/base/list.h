/* list.h - doubly linked lists: utlist, included here only */
#pragma once

#include <utlist.h>

/* The struct has members `prev` and `next` of its own pointer type. `head` is a pointer; NULL:
 * empty. */
#define LIST_ADD(head, item)    DL_APPEND(head, item)
#define LIST_REMOVE(head, item) DL_DELETE(head, item)
/* Safe against removal of `item` in the body. */
#define LIST_EACH(head, item)                                                           \
    for (__typeof__(head) list_next_ = ((item) = (head)) ? (item)->next : NULL; (item); \
         (item) = list_next_, list_next_ = (item) ? (item)->next : NULL)

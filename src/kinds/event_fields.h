/* event_fields.h - the fields that both versions of Event share; defined in kind_event.c */
#pragma once

#include "kinds/kind/kind.h"

extern const struct field event_source_fields[];
extern const struct field event_series_fields[];
extern const struct column event_columns[];
extern const char *const event_selectable[];

/* level.h - levels of Python values that are converted, and errors about them.
 * Private. */
#ifndef FNABI_LANE_CALLS_LEVEL_H
#define FNABI_LANE_CALLS_LEVEL_H

#include <stdbool.h>

/* Enters a level of a value: a list, a dict, the result of a method. Returns -1
 * with a RecursionError, and is not left, where there is no stack for it. */
int lane_level_enter(const char* where);
/* At the outermost level, replaces the RecursionError of a value that has too
 * many levels by an ArgumentValueError. */
void lane_level_leave(void);
/* Adds what a value is, such as "Array: values", to the text of the current
 * exception, if it is a CallError. */
void lane_name_value(const char* format, ...);
/* Clears the exception of a text with lone surrogates, which UTF-8 and so no
 * value has: it is equal to none. Returns false for another exception. */
bool lane_no_value(void);

#endif /* FNABI_LANE_CALLS_LEVEL_H */

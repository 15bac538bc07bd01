/* level.h - levels of Python values that are converted. Private. */
#ifndef FNABI_LANE_CALLS_LEVEL_H
#define FNABI_LANE_CALLS_LEVEL_H

/* Enters a level of a value: a list, a dict, the result of a method. Returns -1
 * with a RecursionError, and is not left, where there is no stack for it. */
int lane_level_enter(const char* where);
/* At the outermost level, replaces the RecursionError of a value that has too
 * many levels by an ArgumentValueError. */
void lane_level_leave(void);
/* Adds what a value is, such as "Array: values", to the text of the current
 * exception, if it is a CallError. */
void lane_name_value(const char* format, ...);

#endif /* FNABI_LANE_CALLS_LEVEL_H */

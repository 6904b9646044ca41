/* The run as comma-separated values, in SI units and rad. Without arguments the samples are printed: time,
   position of the drawing's origin, outputs, state. With the argument "events" the events are printed. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "@{n}.h"

/* The lines are printed at the end of the run, because later calls may withdraw them. */
typedef struct { double time; size_t at; } Line;

static Line *lines;
static size_t line_count, line_room;
static char *text;
static size_t text_length, text_room;

static void *grown(void *memory, size_t size)
{
    void *found = realloc(memory, size);
    if (found == NULL) {
        fputs("no memory\n", stderr);
        exit(1);
    }
    return found;
}

static void begin_line(double time)
{
    if (line_count == line_room) {
        line_room = 2 * line_room + 64;
        lines = grown(lines, line_room * sizeof *lines);
    }
    lines[line_count].time = time;
    lines[line_count].at = text_length;
    ++line_count;
}

static void add(const char *format, ...)
{
    va_list values;
    int size;
    va_start(values, format);
    size = vsnprintf(NULL, 0, format, values);
    va_end(values);
    if (text_length + (size_t)size + 1 > text_room) {
        text_room = 2 * text_room + (size_t)size + 1;
        text = grown(text, text_room);
    }
    va_start(values, format);
    vsnprintf(text + text_length, (size_t)size + 1, format, values);
    va_end(values);
    text_length += (size_t)size;
}

static void remove_last_line(void)
{
    text_length = lines[--line_count].at;
}

static double seen[@{n}_observed];

static void add_samples(@{n} *m)
{
    if (@{n}_withdrawn(m) > 0) {
        const double begin = @{n}_event_at(m, 0).time;
        while (line_count > 0 && lines[line_count - 1].time > begin) {
            remove_last_line();
        }
    }
    for (int64_t i = 0; i < @{n}_sample_count(m); ++i) {
        const double t = @{n}_sample_time(m, i), *y = @{n}_sample(m, i);
        @{n}_observe(m, t, y, seen);
        begin_line(t);
        add("%.17g", t);
        for (int k = 0; k < @{n}_size_position; ++k) {
            add(",%.17g", seen[@{n}_at_position + k]);
        }
        for (int k = 0; k < @{n}_size_outputs; ++k) {
            add(",%.17g", seen[@{n}_at_outputs + k]);
        }
        for (int k = 0; k < @{n}_states; ++k) {
            add(",%.17g", y[k]);
        }
        add("\n");
    }
}

static void add_events(const @{n} *m)
{
    for (int64_t i = 0; i < @{n}_withdrawn(m); ++i) {
        remove_last_line();
    }
    for (int64_t i = 0; i < @{n}_event_count(m); ++i) {
        const @{n}_event event = @{n}_event_at(m, i);
        begin_line(event.time);
        add("%.17g,%s,%s,%s%s", event.time, event.kind, event.contact, event.feature,
            event.side > 0 ? "+" : event.side < 0 ? "-" : "");
        add(",%.17g,%.17g\n", event.energy_before, event.energy_after);
    }
}

int main(int count, char **arguments)
{
    const int events = count > 1 && strcmp(arguments[1], "events") == 0;
    int status = @{n}_more;
    @{n} *m = @{n}_new();
    if (m == NULL || @{n}_begin(m, @{n}_from, @{n}_start, @{n}_given) != 0) {
        fputs("no memory, or too much ground near the wheels\n", stderr);
        @{n}_free(m);
        return 1;
    }
    while (status == @{n}_more) {
        status = @{n}_advance(m, @{n}_until);
        if (events) {
            add_events(m);
        } else {
            add_samples(m);
        }
    }
    puts(events ? "time,kind,contact,feature,energy_before,energy_after" : @{columns});
    if (text_length > 0) {
        fwrite(text, 1, text_length, stdout);
    }
    if (status != @{n}_reached) {
        fprintf(stderr, "ended at %.9g s: %s\n", @{n}_time(m), @{n}_reason(status));
    }
    @{n}_free(m);
    free(lines);
    free(text);
    return status == @{n}_reached || status == @{n}_fell ? 0 : status;
}

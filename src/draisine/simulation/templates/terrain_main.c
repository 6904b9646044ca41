/* The run as comma-separated values, in SI units and rad. Without arguments the samples are printed: time,
   position of the drawing's origin, outputs, state. With the argument "events" the events are printed. */
#include <stdio.h>
#include <string.h>

#include "@{n}.h"

static double seen[@{n}_observed];

static void print_samples(@{n} *m)
{
    for (int64_t i = 0; i < @{n}_sample_count(m); ++i) {
        const double t = @{n}_sample_time(m, i), *y = @{n}_sample(m, i);
        @{n}_observe(m, t, y, seen);
        printf("%.17g", t);
        for (int k = 0; k < @{n}_size_position; ++k) {
            printf(",%.17g", seen[@{n}_at_position + k]);
        }
        for (int k = 0; k < @{n}_size_outputs; ++k) {
            printf(",%.17g", seen[@{n}_at_outputs + k]);
        }
        for (int k = 0; k < @{n}_states; ++k) {
            printf(",%.17g", y[k]);
        }
        printf("\n");
    }
}

static void print_events(const @{n} *m)
{
    for (int64_t i = 0; i < @{n}_event_count(m); ++i) {
        const @{n}_event event = @{n}_event_at(m, i);
        printf("%.17g,%s,%s,%s%s", event.time, event.kind, event.contact, event.feature,
            event.side > 0 ? "+" : event.side < 0 ? "-" : "");
        printf(",%.17g,%.17g\n", event.energy_before, event.energy_after);
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
    puts(events ? "time,kind,contact,feature,energy_before,energy_after" : @{columns});
    while (status == @{n}_more) {
        status = @{n}_advance(m, @{n}_until);
        if (events) {
            print_events(m);
        } else {
            print_samples(m);
        }
    }
    if (status != @{n}_reached) {
        fprintf(stderr, "ended at %.9g s: %s\n", @{n}_time(m), @{n}_reason(status));
    }
    @{n}_free(m);
    return status == @{n}_reached || status == @{n}_fell ? 0 : status;
}

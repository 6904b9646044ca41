/* 5 s of motion in steps of 0.005 s as comma-separated values, in SI units and rad: time, place of the
   drawing's origin, outputs, then the state, whose inner_ pose is not that of the drawing. */
#include <stdio.h>

#include "@{n}.h"

static @{n} machine;
static double samples[1001 * @{n}_states];
static double seen[@{n}_observed];

int main(void)
{
    int64_t done;
    @{n}_begin(&machine, @{n}_nominal, @{n}_start, @{n}_given);
    const int status = @{n}_simulate(&machine, 0.0, 5.0, 1000, samples, &done);
    puts(@{columns});
    for (int64_t i = 0; i <= done; ++i) {
        const double t = 0.005 * (double)i, *y = samples + i * @{n}_states;
        printf("%.17g", t);
        @{n}_begin(&machine, @{n}_nominal, y, @{n}_given);
        @{n}_observe(&machine, t, seen);
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
    if (status != 0) {
        static const char *const why[] = {
            "", "a value is no longer a number: smaller steps may help",
            "the constraints need other pivots than those that this code was written for",
            "no step is small enough", "a wheel fell flat"
        };
        fprintf(stderr, "stopped after %g s: %s\n", 0.005 * (double)done, why[status]);
    }
    return status;
}

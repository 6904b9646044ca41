/* Readings of sensors: sampling, bias, noise and quantisation of the ideal signals. The noise of a reading
   is a function of its number: SplitMix64 and the transformation of Box and Muller, as in
   draisine.simulation.sensing. */

static double sensor_uniform(uint64_t key, uint64_t place)
{
    uint64_t z = key + (place + 1u) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    z = z ^ (z >> 31);
    return (double)(z >> 11) / 9007199254740992.0;
}

static double sensor_normal(uint64_t key, uint64_t place)
{
    const double turn = 6.283185307179586;
    const double length = sqrt(-2.0 * log(1.0 - sensor_uniform(key, 2u * place)));
    return length * cos(turn * sensor_uniform(key, 2u * place + 1u));
}

/* Return the reading of one signal; `tick` is the number of the reading. */
static double sensor_reading(int sensor, int signal, double ideal, int64_t tick)
{
    const int first = SENSOR_FIRST[sensor];
    const uint64_t channels = (uint64_t)(SENSOR_FIRST[sensor + 1] - first);
    const uint64_t place = (uint64_t)tick * channels + (uint64_t)(signal - first);
    const double quantum = SIGNAL_QUANTUM[signal];
    double value = ideal + SIGNAL_BIAS[signal];
    if (SIGNAL_NOISE[signal] > 0.0) {
        value += SIGNAL_NOISE[signal] * sensor_normal(SENSOR_KEY[sensor], place);
    }
    return quantum > 0.0 ? quantum * rint(value / quantum) : value;
}

/* Return the number of the latest reading of a sensor at a time after the start. */
static int64_t sensor_tick(int sensor, double passed)
{
    return (int64_t)floor((passed + 1e-6 * LONGEST_STEP) * SENSOR_RATE[sensor]);
}

"""Validation of scenarios: each table is converted into objects, or all its mistakes are reported.

`mistakes` collects mistakes. `vehicle` builds the machine, `motion` initial values, control laws
and inputs, `terrain` the ground, and `expectations` checks expected values. `scenario` combines
all tables into a plan.

"""

"""Validation of scenarios: each table is converted into objects, or all its mistakes are reported.

`mistakes` collects mistakes. `vehicle` compiles the vehicle, `motion` builds initial values, control
laws and inputs, `terrain` builds the ground, and `expectations` checks expected values. `scenario`
combines all tables into a plan.

"""

"""Runs the steps of a client. Each step prints a line; the last lines are the numbers of those that passed and failed."""

import sys
import traceback

steps = []


def step(function):
    steps.append(function)
    return function


def run_all(client):
    """Ends the process with 1 when a step failed."""
    failed = 0
    for function in steps:
        name = function.__name__.replace("_", " ")
        try:
            function()
            print(f"(pass) {client}: {name}", flush=True)
        except Exception:
            failed += 1
            traceback.print_exc(file=sys.stdout)
            print(f"(fail) {client}: {name}", flush=True)
    print(f" {len(steps) - failed} pass\n {failed} fail")
    sys.exit(1 if failed else 0)

"""python -m simulator."""

from simulator.cli import simulator

if __name__ == "__main__":
    simulator(prog_name="python -m simulator")

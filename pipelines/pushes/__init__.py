"""Change pushes: the receiver that stores them, and the sensor and job that drain the inbox."""

"""Change pushes: the receiver that keeps them, and the sensor that has them drained."""

"""The broker port on the simulator: JSON lines over one loopback connection."""

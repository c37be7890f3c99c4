"""The assets. Each asset loads what campus reads into what the warehouse stores."""

"""Datasets: tables that a platform describes by itself, custom ones too; no code is written for any."""

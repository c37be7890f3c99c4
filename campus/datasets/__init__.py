"""Datasets: tables that a platform describes by itself, custom ones too, so none needs code of its own."""

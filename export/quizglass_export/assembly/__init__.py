"""From a recipe to a bundle, which is written whole or not at all.

A build is planned (`plan`, `estimate`) and carried out (`carry_out`) in steps that a work directory keeps (`work`). At
its end it has its `manifest` and its reports (`parity_report`, `report`), and `next_steps` says what comes next.
"""

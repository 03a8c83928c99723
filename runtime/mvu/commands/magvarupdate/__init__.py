"""The dialect ``magvarupdate``: what the upstream accepts and does (spec/magvarupdate.md §2-§9, §18)."""

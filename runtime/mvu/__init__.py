"""MVU variables: envelopes, commands, resources, history, checkpoints, seeds, policy, bindings."""

"""What every other room uses: instance, placement, results, errors, the registry. No problem and no solver."""

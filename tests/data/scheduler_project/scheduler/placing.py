"""Where tasks run: each on a node with its data while one has a slot, the tasks with the fewest such nodes first."""


def place(problem, rng):
    """A node for each task."""
    free = dict(enumerate(problem.instance.state.idle_slots.tolist()))
    holders = {task: problem.instance.replicas[task].tolist() for task in problem.tasks.tolist()}
    chosen = {}
    for task in sorted(holders, key=lambda task: len(holders[task])):
        local = [node for node in holders[task] if free[node]]
        if local:
            chosen[task] = max(local, key=free.get)
            free[chosen[task]] -= 1
    for task in holders:
        left = [node for node in free if free[node]]
        if task not in chosen and left:
            chosen[task] = left[0]
            free[left[0]] -= 1
    return [chosen.get(task) for task in holders]
